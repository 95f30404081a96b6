"""Places of hubs whose catalogs are in SQLite or in PostgreSQL."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from shared_spark import Place, place_in


@contextmanager
def place_with(catalog: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    """A hub nobody has used, with its catalog in `sqlite` or `postgresql`."""
    if catalog == "sqlite":
        yield place_in(folder)
        return
    server = request.getfixturevalue("postgres_server")
    name = server.create_database()
    yield Place(folder, server.url(name))
    server.drop_database(name)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Each test names the catalogs it runs on."""
    with place_with(request.param, tmp_path, request) as made:
        yield made


@pytest.fixture(scope="module")
def crash_places(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spark: object
) -> Iterator[Callable[[str], Place]]:
    """One hub for each catalog that is asked for, prepared by the test module."""
    with ExitStack() as stack:

        @functools.cache
        def place_of(catalog: str) -> Place:
            folder = tmp_path_factory.mktemp("crash")
            made = stack.enter_context(place_with(catalog, folder, request))
            with made.open(spark) as hub:  # type: ignore[arg-type]
                request.module.prepare(hub)
            return made

        yield place_of
