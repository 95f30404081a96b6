"""Insert or update in one statement, in the dialect of the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Table
    from sqlalchemy.dialects.postgresql import Insert as PostgresInsert
    from sqlalchemy.dialects.sqlite import Insert as SqliteInsert


def insert_into(dialect: str, table: Table) -> SqliteInsert | PostgresInsert:
    """An INSERT that understands ON CONFLICT; only the dialect in use is imported."""
    if dialect == "sqlite":
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)


def insert_row(
    dialect: str, table: Table, values: Mapping[str, Any]
) -> SqliteInsert | PostgresInsert:
    """The same for one row."""
    return insert_into(dialect, table).values(dict(values))
