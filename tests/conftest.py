"""Fixtures shared by all test folders."""

pytest_plugins = ["postgres_server", "shared_spark"]
