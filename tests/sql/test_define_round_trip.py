"""A query and the SQL written from its tree give the same bag."""

from __future__ import annotations

from pathlib import Path

import pytest
from sql_harness import ROWS, SCHEMAS, Duck, assert_round_trip

DATA = Path(__file__).parent / "data" / "round_trip.sql"
QUERIES = [line.rstrip(";") for line in DATA.read_text().splitlines()]


@pytest.fixture(scope="module")
def duck() -> Duck:
    return Duck(SCHEMAS, ROWS)


@pytest.mark.parametrize("query", QUERIES)
def test_tree_means_what_the_query_means(duck: Duck, query: str) -> None:
    assert_round_trip(duck, query)


def test_harness_can_fail(duck: Duck) -> None:
    assert duck.bag("SELECT id FROM t") != duck.bag("SELECT DISTINCT id FROM t")
