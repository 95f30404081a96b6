"""How long it takes to compile the refreshes of TPC-H: fresh, and from the templates of a hub.

CPU time counts, and the least of three compilations: other work on the machine makes a processor
slower, never faster. The figures are in `build/workloads/`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import pytest
from delta_harness import Tables
from tpc import BUILD, tpch

from headwater.core.names import TableName
from headwater.delta.change import Change
from headwater.delta.compile import compile_refresh
from headwater.delta.layout import layout
from headwater.delta.verdict import verdict
from headwater.refresh.definitions import Resolved, Seen, definition_hash
from headwater.refresh.templates import Templates
from headwater.sql.define import define
from headwater.sql.definition import Definition

pytestmark = pytest.mark.timed
COMPILED_MS, CACHED_MS = 50, 1
Changes = dict[TableName, Change]


def specialisations(definition: Definition) -> Iterator[Changes]:
    """Each source alone, and all together; rows only added, or all kinds of changes."""
    for change in (Change.APPEND, Change.MIXED):
        yield dict.fromkeys(definition.sources, change)
        if len(definition.sources) > 1:
            yield from ({source: change} for source in definition.sources)


def milliseconds(act, *args: object) -> float:
    taken = []
    for _ in range(3):
        started = time.process_time()
        act(*args)
        taken.append((time.process_time() - started) * 1000)
    return min(taken)


def resolved(query: str) -> Resolved:
    definition = define(query, Tables(tpch().schemas))
    plan = layout(definition)
    key = definition_hash(definition, plan)
    found = (definition, Seen({}, {}))
    return Resolved(plan, verdict(definition), key, definition.sources, lambda: found)


def test_compile_time_of_every_specialisation() -> None:
    warm = resolved(tpch().query("q01"))
    compile_refresh(warm.definition, warm.layout, next(specialisations(warm.definition)))
    lines, medians, cached = [], {}, {}
    templates = Templates()
    for name in tpch().texts:
        query = tpch().query(name)
        found = resolved(query)
        known = list(specialisations(found.definition))
        compiled = [milliseconds(compile_refresh, found.definition, found.layout, c) for c in known]
        for changes in known:
            templates.program(found, changes)
        again = [milliseconds(templates.program, found, changes) for changes in known]
        medians[name], cached[name] = statistics.median(compiled), statistics.median(again)
        lines.append(
            f"{name} define {milliseconds(resolved, query):5.1f} ms, {len(known):2} "
            f"specialisations: median {medians[name]:5.1f} ms, most {max(compiled):5.1f} ms, "
            f"from the cache {cached[name]:.3f} ms"
        )
    (BUILD / "compile_time.txt").write_text("\n".join(lines) + "\n")
    assert max(medians.values()) < COMPILED_MS, medians
    assert max(cached.values()) < CACHED_MS, cached
