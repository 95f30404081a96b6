"""Fixtures shared by all test folders."""

pytest_plugins = ["figures", "postgres_server", "shared_spark", "tracing"]
