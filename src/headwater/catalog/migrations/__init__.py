"""Alembic migrations of the catalog, run by `headwater.catalog.schema`."""
