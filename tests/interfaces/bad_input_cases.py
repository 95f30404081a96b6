"""What `test_bad_input` feeds to a hub: sources `orders`, `customers`, stream tables `a`, `b`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import headwater
from headwater.core import errors
from headwater.core.errors import HeadwaterError

Call = Callable[[headwater.Hub], object]
GOOD = "SELECT id, price FROM orders"
EVIL = "x`; DROP TABLE orders; --"


@dataclass(frozen=True)
class Case:
    """Something that must be refused.

    Attributes:
        place: line and column of the place the error must have; None when it is not about a text.
    """

    name: str
    error: type[HeadwaterError]
    call: Call
    place: tuple[int, int] | None = None


def create(
    name: str, error: type[HeadwaterError], query: Any, place: tuple[int, int] | None, **more: Any
) -> Case:
    """A query that cannot become the stream table `x`."""
    return Case(name, error, lambda hub: hub.create_stream_table("x", query, **more), place)


def option(name: str, **options: Any) -> Case:
    """An option that a good query cannot have."""
    return create(name, errors.InvalidOption, GOOD, None, **options)


def named(name: str, table: Any) -> Case:
    """A name that a stream table cannot have."""
    return Case(name, errors.InvalidName, lambda hub: hub.create_stream_table(table, GOOD))


def sql(name: str, error: type[HeadwaterError], text: Any, place: tuple[int, int] | None) -> Case:
    """A statement that cannot be run."""
    return Case(name, error, lambda hub: hub.sql(text), place)


def call(name: str, error: type[HeadwaterError], do: Call) -> Case:
    """A call of a method."""
    return Case(name, error, do)


def alter(
    name: str, error: type[HeadwaterError], table: str, query: str, place: tuple[int, int]
) -> Case:
    """A query that a stream table cannot get."""
    return Case(name, error, lambda hub: hub.alter_stream_table(table, query=query), place)


def nested_batch(hub: headwater.Hub) -> None:
    with hub.batch(), hub.batch():
        pass


def random_function(hub: headwater.Hub) -> None:
    hub.register_function("dice", lambda x: x, deterministic=False)
    hub.create_stream_table("x", "SELECT id, dice(word) AS d FROM orders")


E = errors
QUERIES = [
    create("clause without condition", E.SqlSyntaxError, "SELECT id FROM orders WHERE", (1, 23)),
    create("comma before FROM", E.SqlSyntaxError, "SELECT id,\n  FROM orders", (1, 10)),
    create("bracket left open", E.SqlSyntaxError, "SELECT (id FROM orders", (1, 12)),
    create("string left open", E.SqlSyntaxError, "SELECT id,\n 'a FROM orders", (2, 2)),
    create("mistyped SELECT", E.SqlSyntaxError, "SELEC id FROM orders", (1, 1)),
    create("nothing after FROM", E.SqlSyntaxError, "SELECT id FROM", (1, 11)),
    create("empty", E.SqlSyntaxError, "", (1, 1)),
    create("only a comment", E.SqlSyntaxError, "-- nothing", (1, 1)),
    create(
        "too many arguments", E.SqlSyntaxError, "SELECT upper(word, 1) AS u FROM orders", (1, 21)
    ),
    create("no text", E.InvalidOption, None, None),
    create("a number", E.InvalidOption, 5, None),
    create("unknown table", E.UnknownTable, "SELECT id\nFROM ordres", (2, 6)),
    create("unknown namespace", E.UnknownTable, "SELECT id FROM nope.orders", (1, 16)),
    create("other catalog", E.UnknownTable, "SELECT id FROM spark_catalog.a.orders", (1, 16)),
    create("itself, not yet there", E.UnknownTable, "SELECT id FROM x", (1, 16)),
    create("metadata table", E.InvalidQuery, "SELECT * FROM hw.default.orders.files", (1, 15)),
    create("unknown column", E.UnknownColumn, "SELECT id,\n  prise FROM orders", (2, 3)),
    create("unknown qualified", E.UnknownColumn, "SELECT o.prise FROM orders o", (1, 8)),
    create("unknown alias", E.UnknownColumn, "SELECT z.price FROM orders o", (1, 8)),
    create(
        "ambiguous column",
        E.UnknownColumn,
        "SELECT price, id FROM orders o JOIN customers c ON o.customer = c.id",
        (1, 15),
    ),
    create("hidden column", E.UnknownColumn, "SELECT __hw_id FROM a", (1, 8)),
    create("two of one name", E.DuplicateColumn, "SELECT id, id FROM orders", (1, 12)),
    create("two but for case", E.DuplicateColumn, "SELECT id, price AS ID FROM orders", (1, 12)),
    create(
        "star of a join",
        E.DuplicateColumn,
        "SELECT * FROM orders o JOIN customers c ON o.customer = c.id",
        (1, 8),
    ),
    create("reserved column", E.DuplicateColumn, "SELECT id AS __hw_w FROM orders", (1, 8)),
    create("no table", E.InvalidQuery, "SELECT 1 AS one", (1, 1)),
    create("DDL", E.InvalidQuery, "DROP TABLE orders", (1, 1)),
    create("DML", E.InvalidQuery, "INSERT INTO orders SELECT * FROM orders", (1, 1)),
    create("DELETE", E.InvalidQuery, " DELETE FROM orders", (1, 2)),
    create("two statements", E.InvalidQuery, "SELECT id FROM orders;\nDROP TABLE orders", (2, 1)),
    create("void column", E.InvalidQuery, "SELECT id, NULL AS n FROM orders", (1, 20)),
    create("interval column", E.InvalidQuery, "SELECT INTERVAL 1 DAY AS n FROM orders", (1, 26)),
    create("not grouped", E.InvalidQuery, "SELECT id, count(*) AS n FROM orders", (1, 8)),
    create(
        "branches of a union",
        E.InvalidQuery,
        "SELECT id FROM orders UNION ALL SELECT id, name FROM customers",
        (1, 40),
    ),
    create("rand", E.NonDeterministicQuery, "SELECT id,\n  rand() AS r FROM orders", (2, 3)),
    create("uuid", E.NonDeterministicQuery, "SELECT uuid() AS u FROM orders", (1, 8)),
    create(
        "rand in a filter", E.NonDeterministicQuery, "SELECT id FROM a WHERE rand() < 1", (1, 24)
    ),
    Case("random function", E.NonDeterministicQuery, random_function, (1, 12)),
    create("unknown function", E.QueryFailed, "SELECT id,\n  nix(id) AS n FROM a", (2, 3)),
    create("types that do not fit", E.QueryFailed, "SELECT id FROM a\nWHERE id + true > 1", (2, 7)),
    create("division by zero", E.QueryFailed, "SELECT 10 / price AS part FROM orders", None),
    create(
        "text that is no number", E.QueryFailed, "SELECT CAST(word AS INT) AS n FROM orders", None
    ),
    create("overflow", E.QueryFailed, "SELECT CAST(id * 3000000000 AS INT) AS n FROM orders", None),
    create(
        "subquery of many rows",
        E.QueryFailed,
        "SELECT id, (SELECT name FROM customers) AS n FROM orders",
        None,
    ),
    create(
        "not incremental",
        E.NotIncremental,
        "SELECT id FROM orders LIMIT 2",
        (1, 29),
        refresh_mode="INCREMENTAL",
    ),
    create(
        "not incremental, strict",
        E.NotIncremental,
        "SELECT id\nFROM orders LIMIT 2",
        (2, 19),
        refresh_mode="INCREMENTAL STRICT",
    ),
    create(
        "key is not unique",
        E.UniqueKeyViolated,
        "SELECT id, word FROM orders",
        None,
        unique_key=["id"],
    ),
]
OPTIONS = [
    option("mode", refresh_mode="SOMETIMES"),
    option("no mode", refresh_mode=None),
    option("IMMEDIATE", refresh_mode="IMMEDIATE"),
    option("tier", tier="lukewarm"),
    option("sla", sla="soon"),
    option("sla of nothing", sla="0 seconds"),
    option("schedule", schedule="often"),
    option("schedule in the past", schedule="-5m"),
    option("minute 99", schedule="99 * * * *"),
    option("time zone", schedule="0 6 * * * Mars/Base"),
    option("schedule as SQL", schedule="5m'; DROP TABLE orders; --"),
    option("no schedule", schedule=None),
    option("diamond consistency", diamond_consistency="maybe"),
    option("diamond policy", diamond_schedule_policy="maybe"),
    option("unknown key", unique_key=["nope"]),
    option("key as SQL", unique_key=[EVIL]),
    option("key of numbers", unique_key=[1]),
    option("key twice", unique_key=["id", "ID"]),
    option("hidden key", unique_key=["__hw_id"]),
    option("unknown partition", partition_by=["nope"]),
    option("partition as SQL", partition_by=["id) ; DROP TABLE orders; --"]),
    option("two partitions in one", partition_by=["bucket(4, id), id"]),
    option("unknown order", sort_by=["nope"]),
    option("order twice", sort_by=["id", "ID"]),
    option("order by an expression", sort_by=["id DESC"]),
    option("unknown transform", partition_by=["evil(id)"]),
    option("transform of a wrong type", partition_by=["days(id)"]),
    option("no buckets", partition_by=["bucket(0, id)"]),
    option("partition twice", partition_by=["id", "id"]),
    option("partition by a number", partition_by=3),
    option("tags of numbers", tags=[1]),
    option("comment of a number", comment=5),
    option("append only, perhaps", append_only="yes"),
    option("both ways", if_not_exists=True, or_replace=True),
]
NAMES = [
    named("reserved name", "__hw_x"),
    named("reserved namespace", "headwater.x"),
    named("system namespace", "system.x"),
    named("three parts", "hw.default.x"),
    named("no name", ""),
    named("None", None),
    named("name as SQL", EVIL),
    named("digit first", "1x"),
    named("other letters", "näme"),
    named("too long", "x" * 129),
    named("line break", "x\n"),
    call("name is taken", E.StreamTableExists, lambda h: h.create_stream_table("a", GOOD)),
    call("name of a table", E.StreamTableExists, lambda h: h.create_stream_table("orders", GOOD)),
    call(
        "replacing a table",
        E.StreamTableExists,
        lambda h: h.create_stream_table("orders", "SELECT id FROM customers", or_replace=True),
    ),
]
STATEMENTS = [
    sql("no name", E.SqlSyntaxError, "CREATE STREAM TABLE AS SELECT id FROM orders", (1, 21)),
    sql("no query", E.SqlSyntaxError, "CREATE STREAM TABLE x", (1, 22)),
    sql(
        "unknown clause",
        E.SqlSyntaxError,
        "CREATE STREAM TABLE x\n  COLOUR 'red' AS SELECT 1",
        (2, 3),
    ),
    sql(
        "clause twice",
        E.SqlSyntaxError,
        "CREATE STREAM TABLE x TIER hot TIER cold AS SELECT 1",
        (1, 32),
    ),
    sql("query in it", E.SqlSyntaxError, "CREATE STREAM TABLE x AS\n  SELEC id FROM a", (2, 3)),
    sql("column in it", E.UnknownColumn, "CREATE STREAM TABLE x AS\n  SELECT nix FROM a", (2, 10)),
    sql(
        "types in it",
        E.QueryFailed,
        "CREATE STREAM TABLE x AS\n SELECT nix(id) AS n FROM a",
        (2, 9),
    ),
    sql(
        "two at once",
        E.SqlSyntaxError,
        "CREATE STREAM TABLE x AS SELECT id FROM a; SELECT 1",
        (1, 44),
    ),
    sql(
        "word of a mode",
        E.InvalidOption,
        "CREATE STREAM TABLE x REFRESH_MODE ODD AS SELECT 1",
        (1, 36),
    ),
    sql("word of a tier", E.InvalidOption, "CREATE STREAM TABLE x TIER odd AS SELECT 1", (1, 28)),
    sql("reserved name", E.InvalidName, "CREATE STREAM TABLE __hw_x AS SELECT id FROM a", (1, 21)),
    sql(
        "quoted name as SQL",
        E.InvalidName,
        f"CREATE STREAM TABLE `{EVIL.replace('`', '``')}` AS SELECT id FROM a",
        (1, 21),
    ),
    sql("altered option", E.SqlSyntaxError, "ALTER STREAM TABLE a SET (colour = 'red')", (1, 27)),
    sql(
        "altered schedule",
        E.InvalidOption,
        "ALTER STREAM TABLE a SET (schedule = 'often')",
        (1, 38),
    ),
    sql("altered nothing", E.SqlSyntaxError, "ALTER STREAM TABLE a", (1, 21)),
    sql("drop of what is read", E.HasDependents, "DROP STREAM TABLE a", (1, 19)),
    sql("drop of nothing", E.StreamTableNotFound, "DROP STREAM TABLE nope", (1, 19)),
    sql("refresh of nothing", E.StreamTableNotFound, "REFRESH STREAM TABLE nope", (1, 22)),
    sql("description of nothing", E.StreamTableNotFound, "DESCRIBE STREAM TABLE nope", (1, 23)),
    sql("alter of nothing", E.StreamTableNotFound, "ALTER STREAM TABLE nope RESUME", (1, 20)),
    sql("explanation of nothing", E.StreamTableNotFound, "EXPLAIN STREAM TABLE nope", (1, 22)),
    sql(
        "name is taken",
        E.StreamTableExists,
        "CREATE STREAM TABLE a AS SELECT id FROM orders",
        (1, 21),
    ),
    sql(
        "key of no column",
        E.InvalidOption,
        "CREATE STREAM TABLE x UNIQUE KEY (nope) AS SELECT id FROM orders",
        (1, 34),
    ),
    sql(
        "word of a diamond",
        E.InvalidOption,
        "ALTER STREAM TABLE a SET (diamond_consistency = 'maybe')",
        (1, 49),
    ),
    sql("value of a setting", E.UnknownSetting, "CALL headwater.set('enabled', 'so')", (1, 20)),
    sql("explanation of what", E.SqlSyntaxError, "EXPLAIN STREAM TABLE a WEATHER", (1, 24)),
    sql(
        "explained query",
        E.UnknownColumn,
        "EXPLAIN CREATE STREAM TABLE x AS SELECT nix FROM a",
        (1, 41),
    ),
    sql("unknown function", E.InvalidOption, "CALL headwater.statsu()", (1, 16)),
    sql("private function", E.InvalidOption, "CALL headwater.__class__()", (1, 16)),
    sql("function of the owner", E.InvalidOption, "CALL headwater.close()", (1, 16)),
    sql("arguments missing", E.InvalidOption, "CALL headwater.refresh_stream_table()", (1, 16)),
    sql("arguments unknown", E.InvalidOption, "CALL headwater.status(nope => 1)", (1, 23)),
    sql("arguments left open", E.SqlSyntaxError, "CALL headwater.status('a'", (1, 26)),
    sql("argument as SQL", E.InvalidName, f'CALL headwater.status("{EVIL}")', (1, 23)),
    sql(
        "setting by CALL", E.UnknownSetting, "CALL headwater.set('max_paralel_workers', 5)", (1, 20)
    ),
    sql("no text", E.InvalidOption, None, None),
    sql("empty text", E.SqlSyntaxError, "", (1, 1)),
    sql("Spark syntax", E.SqlSyntaxError, "SELECT id\nFROM a SORTED x", (2, 15)),
    sql("Spark, two at once", E.SqlSyntaxError, "SELECT 1; DROP TABLE orders", (1, 11)),
    sql("Spark table", E.UnknownTable, "SELECT *\nFROM nowhere", (2, 6)),
    sql("Spark column", E.UnknownColumn, "SELECT id, nix FROM orders", (1, 12)),
    sql(
        "column after a stream table", E.UnknownColumn, "SELECT id FROM a, b WHERE nix = 1", (1, 27)
    ),
    sql("hidden column", E.UnknownColumn, "SELECT __hw_id FROM a", (1, 8)),
    sql("Spark function", E.QueryFailed, "SELECT id,\n nix(id) FROM a", (2, 2)),
]
CALLS = [
    call("drop of what is read", E.HasDependents, lambda h: h.drop_stream_table("a")),
    call("drop of nothing", E.StreamTableNotFound, lambda h: h.drop_stream_table("nope")),
    call("drop of a source", E.StreamTableNotFound, lambda h: h.drop_stream_table("orders")),
    call("drop as SQL", E.InvalidName, lambda h: h.drop_stream_table(EVIL, cascade=True)),
    call(
        "alter of nothing",
        E.StreamTableNotFound,
        lambda h: h.alter_stream_table("nope", tier="hot"),
    ),
    call(
        "alter to a status", E.InvalidOption, lambda h: h.alter_stream_table("a", status="BROKEN")
    ),
    call("alter to a key", E.InvalidOption, lambda h: h.alter_stream_table("a", unique_key="nope")),
    call("alter to a tier", E.InvalidOption, lambda h: h.alter_stream_table("a", tier="odd")),
    alter("alter to a column", E.UnknownColumn, "a", "SELECT nix FROM orders", (1, 8)),
    alter("alter to void", E.InvalidQuery, "b", "SELECT NULL AS n FROM a", (1, 16)),
    alter("alter to a mistype", E.QueryFailed, "b", "SELECT nix(id) AS n\nFROM a", (1, 8)),
    alter(
        "alter to a circle",
        E.DependencyCycle,
        "a",
        "SELECT customer AS id,\n customer, total AS price FROM b",
        (2, 32),
    ),
    alter("alter to itself", E.DependencyCycle, "a", "SELECT id, customer, price FROM a", (1, 33)),
    call("refresh of nothing", E.StreamTableNotFound, lambda h: h.refresh_stream_table("nope")),
    call("refresh of a source", E.StreamTableNotFound, lambda h: h.refresh_stream_table("orders")),
    call("resume of nothing", E.StreamTableNotFound, lambda h: h.resume_stream_table("nope")),
    call("repair of nothing", E.StreamTableNotFound, lambda h: h.repair_stream_table("nope")),
    call("age", E.InvalidOption, lambda h: h.refresh_if_stale("a", "soon")),
    call("age in the future", E.InvalidOption, lambda h: h.refresh_if_stale("a", -5)),
    call("selects nothing", E.InvalidOption, lambda h: h.refresh([])),
    call("selects None", E.InvalidOption, lambda h: h.refresh(None)),
    call("selects a plus", E.InvalidOption, lambda h: h.refresh("+")),
    call("selects a kind", E.InvalidOption, lambda h: h.refresh("colour:red")),
    call("selects a tag", E.InvalidOption, lambda h: h.refresh("tag:nobody")),
    call("selects a tier", E.InvalidOption, lambda h: h.refresh("tier:lukewarm")),
    call("selects a name", E.StreamTableNotFound, lambda h: h.refresh("a nope")),
    call("selects a source", E.StreamTableNotFound, lambda h: h.refresh("orders")),
    call("selects SQL", E.InvalidName, lambda h: h.refresh("a;DROP")),
    call("unknown setting", E.UnknownSetting, lambda h: h.set("max_paralel_workers", 3)),
    call("setting out of range", E.UnknownSetting, lambda h: h.set("max_parallel_workers", 1000)),
    call(
        "setting of a wrong type", E.UnknownSetting, lambda h: h.set("max_parallel_workers", "many")
    ),
    call("setting as SQL", E.UnknownSetting, lambda h: h.set("x'; DROP TABLE hw_settings; --", 1)),
    call("setting without a name", E.InvalidOption, lambda h: h.set(None, 1)),
    call("batch in a batch", E.InvalidOption, nested_batch),
    call("explains what", E.InvalidOption, lambda h: h.explain("a", what="weather")),
    call("explains nothing", E.StreamTableNotFound, lambda h: h.explain("nope")),
    Case("explains a mistype", E.SqlSyntaxError, lambda h: h.explain("SELECT id FROM"), (1, 11)),
    Case(
        "validates a column",
        E.UnknownColumn,
        lambda h: h.validate("SELECT nix FROM orders"),
        (1, 8),
    ),
    call("validates None", E.InvalidOption, lambda h: h.validate(None)),
    call("reads nothing", E.UnknownTable, lambda h: h.table("nope")),
    call("reads SQL", E.InvalidName, lambda h: h.table(EVIL)),
    call("reads a version", E.VersionExpired, lambda h: h.table("a", version=42)),
    call(
        "reads a version as SQL", E.InvalidOption, lambda h: h.table("a", version="1; DROP TABLE a")
    ),
    call("reads several", E.StreamTableNotFound, lambda h: h.tables(["a", "nope"])),
    call("verifies nothing", E.StreamTableNotFound, lambda h: h.verify("nope")),
    call("verifies a version", E.VersionExpired, lambda h: h.verify("a", version=42)),
    call("status of nothing", E.StreamTableNotFound, lambda h: h.status("nope")),
    call("history of nothing", E.StreamTableNotFound, lambda h: h.history("nope")),
    call("history of minus one", E.InvalidOption, lambda h: h.history(limit=-1)),
    call("history of a word", E.InvalidOption, lambda h: h.history(limit="x")),
    call("dependencies of nothing", E.StreamTableNotFound, lambda h: h.dependencies("nope")),
    call("function name", E.InvalidOption, lambda h: h.register_function("a b", str)),
    call("function that is none", E.InvalidOption, lambda h: h.register_function("f", 5)),
    call(
        "function type",
        E.InvalidOption,
        lambda h: h.register_function("f", str, returns="nonsense"),
    ),
]

CASES = [*QUERIES, *OPTIONS, *NAMES, *STATEMENTS, *CALLS]
