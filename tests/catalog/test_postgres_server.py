"""The PostgreSQL fixture itself."""

from __future__ import annotations

import psycopg
import pytest

from postgres_server import PostgresServer

pytestmark = pytest.mark.postgres


def test_url_is_an_empty_database_of_a_real_server(postgres_url: str) -> None:
    with psycopg.connect(postgres_url.replace("+psycopg", "")) as connection:
        assert connection.execute("SELECT count(*) FROM pg_stat_user_tables").fetchone() == (0,)
        assert connection.execute("SHOW wal_level").fetchone() == ("logical",)


def test_databases_come_and_go(postgres_server: PostgresServer) -> None:
    name = postgres_server.create_database()
    postgres_server.drop_database(name)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(postgres_server.url(name, driver="postgresql"))
