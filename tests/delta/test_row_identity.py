"""Identity of stored rows: a hash tells rows apart whatever they hold; where it fails, they do."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from headwater.delta.apply import row_ids
from headwater.delta.apply.row_ids import numbered_by_content
from headwater.sql.operators import Column, Reference
from headwater.sql.render import to_sql
from shared_spark import refresh, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import headwater

NAMES = ("a", "b", "c")
WORDS = (
    None,
    "",
    "a",
    "b",
    "a:b",
    ":",
    "NULL",
    "\x00NULL\x00",
    "\x1e",
    "a\x1eb",
    "\\",
    "'",
    "true",
)


def numbered() -> str:
    """Ids for the rows of a relation `given`."""
    fields = tuple((name, Column(name, "string")) for name in NAMES)
    return to_sql(numbered_by_content(Reference("given", fields), NAMES), ())


@given(st.sets(st.sampled_from(NAMES), min_size=1))
def test_every_column_comes_with_whether_it_is_null(names: set[str]) -> None:
    """The built-in hash skips NULLs: without that, (1, NULL) and (NULL, 1) would be one."""
    call = row_ids._hash(sorted(names))
    assert call.sql("spark") == "XXHASH64({})".format(
        ", ".join(f"`{name}`, `{name}` IS NULL" for name in sorted(names))
    )
    assert "CONCAT" not in call.sql("spark").upper()


@pytest.mark.spark
def test_null_positions_and_separators(spark: SparkSession) -> None:
    """All rows of three words out of the list, each twice, have ids of their own."""
    everything = list(product(WORDS, repeat=3)) * 2
    spark.createDataFrame(everything, "a string, b string, c string").createOrReplaceTempView(
        "given"
    )
    found = spark.sql(numbered()).collect()
    assert len({r["__hw_id"] for r in found}) == len(everything)
    hashes: dict[str, set[tuple[object, ...]]] = {}
    for row in found:
        hashes.setdefault(row["__hw_id"].split(":")[1], set()).add((row.a, row.b, row.c))
    assert all(len(same) == 1 for same in hashes.values()), "rows that differ share a hash"


@pytest.mark.spark
def test_where_all_hashes_are_equal_the_columns_decide(
    hub: headwater.Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_ids, "_hash", lambda _: exp.cast(exp.Literal.number(0), "bigint"))
    hub.sql("CREATE TABLE src (a STRING, b STRING) USING iceberg")
    hub.sql("INSERT INTO src VALUES ('a', NULL), (NULL, 'a')")
    hub.create_stream_table("t", "SELECT a, b FROM src", refresh_mode="INCREMENTAL STRICT")
    for statement in (
        "UPDATE src SET b = 'a' WHERE b IS NULL",
        "INSERT INTO src VALUES (NULL, NULL), (NULL, NULL), ('a:', ':a'), ('a', '::a')",
        "DELETE FROM src WHERE a IS NULL AND b = 'a'",
        "UPDATE src SET a = 'a' WHERE a IS NULL",
    ):
        hub.sql(statement)
        refresh(hub, "t")
    assert rows(hub, "t") == [
        ("a", "::a"),
        ("a", "a"),
        ("a", None),
        ("a", None),
        ("a:", ":a"),
    ]
