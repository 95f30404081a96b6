"""Parts of a plan that are read several times are computed once, so texts grow with the query.

A part that lost its mark would be written out wherever it is read: some texts grew a hundredfold.
"""

from __future__ import annotations

from delta_harness import compiled
from generated import QUERIES, seeds_of
from generator.cases import some_cases

from headwater.core.names import TableName
from headwater.delta.change import Change

DEEP = (6, 8, 12)
"""Chunks of generated cases with some of the deepest queries."""
LONGEST = 200_000
MEAN = 16_000


def test_texts_of_deep_queries_stay_short(report: list[str]) -> None:
    sizes = []
    for case in (c for n in DEEP for seed in seeds_of(n) for c in some_cases(seed, QUERIES)):
        schemas = tuple(case.story.schemas.items())
        changes = tuple(sorted((TableName.parse(name), Change.MIXED) for name, _ in schemas))
        program = compiled(case.query.sql, schemas, case.query.unique_key, changes)
        sizes.append(sum(len(s.sql) for s in program.stages) + len(program.statement or ""))
    mean = sum(sizes) // len(sizes)
    report.append(f"text of {len(sizes)} refreshes: mean {mean:,}, longest {max(sizes):,}")
    assert max(sizes) < LONGEST
    assert mean < MEAN
