"""Every test of the catalog runs on SQLite and on PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.catalog.store import Store

_BOTH = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(params=_BOTH)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """The catalog of a hub that nobody used before."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/headwater.db"
    else:
        url = request.getfixturevalue("postgres_url")
    with Store(url, hub=f"hub_{uuid.uuid4().hex[:8]}") as opened:
        yield opened


@pytest.fixture(params=_BOTH)
def fresh_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database without any table."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/headwater.db"
        return
    server = request.getfixturevalue("postgres_server")
    name = server.create_database()
    yield server.url(name)
    server.drop_database(name)


@pytest.fixture
def store_url(store: Store) -> str:
    """The address of the catalog in `store`, for other processes."""
    return store.database.engine.url.render_as_string(hide_password=False)
