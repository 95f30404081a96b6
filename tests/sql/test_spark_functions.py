"""Every function of Spark, by the examples of its documentation: read and written back, it answers
as before.

The compiler must know which functions are aggregates, and must not change what a call means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest
from sql_harness import LOOKUP
from sqlglot import exp

from headwater.core.errors import HeadwaterError
from headwater.sql.build.aggregates import is_aggregate
from headwater.sql.build.context import Context, Session
from headwater.sql.build.query import query as build_query
from headwater.sql.define import define
from headwater.sql.functions import CLOCKS, NON_DETERMINISTIC, SESSION
from headwater.sql.operators import Project
from headwater.sql.parse import parse_query
from headwater.sql.render import to_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

QUICK = 40
"""Every so-manieth example in a quick run."""

# Not the same twice, not of a query, or written as no person writes it in a view.
UNSTEADY = frozenset((*NON_DETERMINISTIC, *CLOCKS, *SESSION, "unix_timestamp", "to_unix_timestamp"))
UNREAD = (
    ">>>",
    "X '",
    "=> array(",
    "inline",
    "variant_explode",
    "collations()",
    "sql_keywords()",
    "window_time",
    "TIME'",
)
GROUPING = {"grouping", "grouping_id"}


class Example(NamedTuple):
    function: str
    text: str


def infos(spark: SparkSession) -> list:
    return list(
        spark._jvm.org.apache.spark.sql.api.python.PythonSQLUtils.listBuiltinFunctionInfos()
    )


def examples(spark: SparkSession) -> Iterator[Example]:
    for info in infos(spark):
        for text in re.findall(r"^\s*> (SELECT.*?);\s*$", info.getExamples(), re.S | re.M | re.I):
            called = {name.lower() for name in re.findall(r"(\w+)\s*\(", text)}
            words = {name.lower() for name in re.findall(r"\w+", text)}
            steady = not (called & UNSTEADY) and not (words & {*CLOCKS, "current_time"})
            if steady and not any(mark in text for mark in UNREAD):
                yield Example(info.getName(), text)


def answer(spark: SparkSession, text: str) -> tuple[list[str], list[str]]:
    frame = spark.sql(text)
    return sorted(repr(tuple(row)) for row in frame.collect()), [kind for _, kind in frame.dtypes]


def written_back(text: str) -> str:
    definition = define(text, LOOKUP)
    items = tuple((column, column.ref) for _, column in definition.output)
    return to_sql(Project(definition.tree, items), sources=definition.sources)


def wrong(spark: SparkSession, example: Example) -> str | None:
    try:
        wanted = answer(spark, example.text)
    except Exception:
        return None  # Some examples of the documentation are outdated.
    try:
        back = written_back(example.text)
    except HeadwaterError as error:
        return f"{example}: {error}"
    try:
        found = answer(spark, back)
    except Exception as error:
        return f"{example} became {back}: {str(error)[:200]}"
    return None if found[0] == wanted[0] else f"{example} became {back}: {found} not {wanted}"


def judge(spark: SparkSession, chosen: list[Example]) -> None:
    failures = [failure for one in chosen if (failure := wrong(spark, one))]
    assert not failures, "\n".join(failures)


def test_examples(spark: SparkSession) -> None:
    judge(spark, list(examples(spark))[::QUICK])


@pytest.mark.long
def test_all_examples(spark: SparkSession) -> None:
    found = list(examples(spark))
    assert len(found) > 900
    judge(spark, found)


def test_aggregates_are_known(spark: SparkSession) -> None:
    named = {info.getName() for info in infos(spark) if info.getGroup() == "agg_funcs"}
    assert len(named) > 60
    ctx = Context(Session("", LOOKUP), build_query, "")
    unknown = [name for name in sorted(named - GROUPING) if not is_aggregate(call(name), ctx)]
    assert unknown == []


def call(name: str) -> exp.Expr:
    """A call with as many arguments as the parser wants."""
    for arguments in ("x", "x, 1", "x, 1, 1, 1"):
        try:
            return parse_query(f"SELECT {name}({arguments}) FROM t").selects[0]
        except HeadwaterError:
            continue
    raise AssertionError(name)
