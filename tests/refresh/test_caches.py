"""Compiled refreshes: found in memory, in the shared file, in the catalog, in that order."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headwater.core.names import TableName
from headwater.delta.change import Change
from headwater.delta.compile import compile_refresh
from headwater.delta.layout import layout
from headwater.delta.verdict import verdict
from headwater.refresh.definitions import Resolved, definition_hash
from headwater.refresh.lookup import Seen
from headwater.refresh.stored_template import (
    Compiled,
    compiled_bytes,
    program_bytes,
    read_compiled,
    read_program,
)
from headwater.refresh.templates import LONGEST, Templates, specialisation
from headwater.sql.define import define
from headwater.sql.lookup import SourceField
from shared_spark import Place, check, environment, refresh

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SRC = TableName.parse("src")
QUERIES = [
    "SELECT g, SUM(x) AS s FROM src GROUP BY g",
    "SELECT id, x FROM src WHERE x > 1",
    "SELECT id, RANK() OVER (PARTITION BY g ORDER BY x) AS r FROM src",
    "SELECT SUM(x) OVER (ORDER BY id) AS running FROM src",
    "SELECT a.id, b.x FROM src a LEFT JOIN src b ON a.id = b.x",
]


class Lookup:
    def fields(self, table: TableName) -> tuple[SourceField, ...]:
        return tuple(SourceField(n, "bigint") for n in ("id", "g", "x"))

    def view(self, name: TableName) -> None:
        return None

    def function(self, name: str) -> None:
        return None


def resolved(query: str) -> Resolved:
    definition = define(query, Lookup())  # type: ignore[arg-type]
    plan = layout(definition)
    found = (definition, Seen({}, {}))
    key = definition_hash(definition, plan)
    return Resolved(plan, verdict(definition), key, definition.sources, lambda: found)


@pytest.mark.parametrize("query", QUERIES)
def test_templates_come_back_from_their_bytes_as_they_were(query: str) -> None:
    found = resolved(query)
    program = compile_refresh(found.definition, found.layout, {SRC: Change.MIXED})
    stored = program_bytes(program)
    assert stored is not None
    assert read_program(stored) == program
    definition = compiled_bytes(Compiled.of(found))
    assert definition is not None
    assert read_compiled(definition) == Compiled.of(found)
    for damaged in (b"", b"\x00", stored[:-1], definition):
        assert read_program(damaged) is None
    assert read_compiled(stored) is None


def test_the_257th_program_evicts_the_one_used_longest_ago() -> None:
    templates = Templates()
    found = resolved(QUERIES[1])
    versions = [replace(found, hash=f"hash {i}") for i in range(257)]
    for version in versions[:256]:
        templates.program(version, {SRC: Change.APPEND})
    templates.program(versions[0], {SRC: Change.APPEND})
    stats = templates.stats()
    assert (stats.l1_size, stats.misses, stats.l1_hits, stats.evictions) == (256, 256, 1, 0)
    templates.program(versions[256], {SRC: Change.APPEND})
    assert (templates.stats().l1_size, templates.stats().evictions) == (256, 1)
    templates.program(versions[0], {SRC: Change.APPEND})
    assert templates.stats().l1_hits == 2
    templates.program(versions[1], {SRC: Change.APPEND})
    assert templates.stats().misses == 258


def test_a_long_specialisation_is_cut_and_stays_itself() -> None:
    tables = [TableName("default", f"{'t' * 60}{i}") for i in range(9)]
    names = {
        specialisation({t: Change.MIXED if t == one else Change.APPEND for t in tables})
        for one in tables
    }
    assert len(names) == 9
    assert all(len(name) == LONGEST for name in names)


SECOND = """
import json, sys, time
import headwater
from headwater.core.names import TableName
from headwater.delta.change import Change
with headwater.connect(catalog=sys.argv[1], warehouse=sys.argv[2]) as hub:
    runtime = hub._runtime
    row = runtime.store.tables.get(TableName.parse("t"))
    from headwater.refresh.definitions import resolved_for
    changed = {TableName.parse("src"): Change.APPEND}
    runtime.templates.shared.get(b"open the file")
    found = resolved_for(runtime, row)
    times = []
    for _ in range(5):
        runtime.templates.forget()
        found = resolved_for(runtime, row)
        started = time.perf_counter()
        runtime.templates.program(found, changed)
        times.append((time.perf_counter() - started) * 1000)
    stats = hub.cache_stats()
    hub.explain("t", "refresh")
    print(json.dumps({"ms": min(times), "misses": stats.misses, "l0": stats.l0_hits,
                      "l2": stats.l2_hits, "compiler": "headwater.delta.compile" in sys.modules}))
"""


def second_process(place: Place) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", SECOND, place.catalog, place.warehouse],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.mark.spark
@pytest.mark.timed
def test_a_second_process_compiles_nothing(spark: SparkSession, place: Place) -> None:
    with place.open(spark) as hub:
        hub.sql("CREATE TABLE src (id BIGINT, g INT, x BIGINT) USING iceberg")
        hub.sql("INSERT INTO src VALUES (1, 1, 1)")
        hub.create_stream_table("t", "SELECT g, SUM(x) AS s FROM src GROUP BY g")
        hub.sql("INSERT INTO src VALUES (2, 1, 1)")
        refresh(hub, "t")
        first = hub.cache_stats()
        assert (first.misses, first.l0_size, first.l2_size) == (1, 2, 2)

        told = second_process(place)
        assert (told["misses"], told["l2"], told["compiler"]) == (0, 0, False)
        assert told["l0"] >= 6
        assert told["ms"] < 1.0

        shared = Path(str(first.l0_path))
        for name in shared.parent.iterdir():
            name.unlink()
        told = second_process(place)
        assert (told["misses"], told["l2"], told["compiler"]) == (0, 2, False)

    with place.open(spark) as hub:
        assert hub.clear_caches() == 2
        assert (hub.cache_stats().l0_size, hub.cache_stats().l2_size) == (0, 0)
        hub.sql("INSERT INTO src VALUES (3, 2, 5)")
        assert refresh(hub, "t")[0].action == "INCREMENTAL"
        refilled = hub.cache_stats()
        assert (refilled.misses, refilled.l0_size, refilled.l2_size) == (2, 2, 2)
        hub.alter_stream_table("t", query="SELECT g, MAX(x) AS s FROM src GROUP BY g")
        hub.refresh_stream_table("t")
        hub.sql("INSERT INTO src VALUES (4, 2, 50)")
        hub.refresh_stream_table("t")
        check(hub, "t")
        assert hub.table("t").where("g = 2").collect()[0].s == 50
