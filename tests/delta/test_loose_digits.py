"""Values that depend on the order of rows: what is stored differs in its last digits from what a
refresh computes again for the old version, and is found all the same.
"""

from __future__ import annotations

import random

import pytest
from delta_harness import Maintained, Sandbox, check_churn, prepared
from duck import scratch

from headwater.core.spec import ApplyKind
from headwater.delta.physical import physical
from headwater.delta.steady import loose
from headwater.delta.verdict import strategies

SCHEMAS = {"t": "id int, k int, x int, v double", "r": "k int, y int"}
SUMS = "(SELECT k, SUM(v) AS n FROM t GROUP BY k) AS s"
NUMBERS = [0.1, 0.2, 0.3, 0.7, 1.1, None]

QUERIES = {
    "join": f"SELECT r.y, s.n FROM r JOIN {SUMS} ON r.k = s.k",
    "only_loose": f"SELECT s.n FROM r JOIN {SUMS} ON r.k = s.k",
    "computed": f"SELECT r.y + 1 AS y, s.n / 3 AS n FROM r JOIN {SUMS} ON r.k = s.k",
    "outer": f"SELECT r.y, s.n FROM r LEFT JOIN {SUMS} ON r.k = s.k",
    "full": f"SELECT r.y, s.n, s.k FROM r FULL JOIN {SUMS} ON r.k = s.k",
    "key": f"SELECT t.id, s.n FROM t JOIN {SUMS} ON t.k = s.k",
    "distinct": f"SELECT DISTINCT s.n FROM {SUMS}",
    "distinct_with": f"SELECT DISTINCT s.n, r.y FROM r JOIN {SUMS} ON r.k = s.k",
    "grouped": f"SELECT s.n, COUNT(*) AS m FROM {SUMS} GROUP BY s.n",
    "grouped_with": f"SELECT s.n, r.y, COUNT(*) AS m FROM r JOIN {SUMS} ON r.k = s.k GROUP BY 1, 2",
    "union": f"SELECT k, n FROM {SUMS} UNION ALL SELECT k, CAST(y AS DOUBLE) FROM r",
    "except": f"SELECT k, n FROM {SUMS} EXCEPT SELECT k, CAST(y AS DOUBLE) FROM r",
    "intersect": "SELECT k, SUM(v) AS n FROM t GROUP BY k INTERSECT ALL "
    "SELECT k, SUM(v) FROM t GROUP BY k",
    "deviation": "SELECT r.y, (SELECT STDDEV_SAMP(x) FROM t WHERE t.k = r.k) AS n FROM r",
    "lateral": "SELECT r.y, b.n FROM r, LATERAL (SELECT AVG(t.v) AS n FROM t WHERE t.k = r.k) AS b",
    "window": "SELECT w.n, r.y FROM (SELECT k, SUM(v) OVER (PARTITION BY k) AS n FROM t) AS w "
    "JOIN r ON r.k = w.k",
    "of_sums": f"SELECT r.y, SUM(s.n) OVER (PARTITION BY r.y) AS n FROM r JOIN {SUMS} ON r.k = s.k",
}


def rows(rng: random.Random, number: int) -> dict[str, list[tuple]]:
    ids = rng.sample(range(100), number)
    return {
        "t": [(i, rng.choice([1, 2, None]), i % 7, rng.choice(NUMBERS)) for i in ids],
        "r": [(rng.choice([1, 2, 3]), rng.choice([1, 2])) for _ in range(4)],
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", QUERIES)
def test_rows_stored_in_other_digits_are_found(name: str, seed: int) -> None:
    rng = random.Random(seed)
    with scratch() as con:
        box = Sandbox(con, SCHEMAS, rows(rng, 9))
        table = Maintained(box, QUERIES[name], ("id",) if name == "key" else ())
        for _ in range(4):
            after = rows(rng, 5)
            after["t"] += [row for row in box.rows["t"][::2] if row[0] not in _ids(after["t"])]
            box.step(after, rng, noise=True)
            con.execute(f'UPDATE "{table._target}" SET n = n * (1 + 4e-16) WHERE n IS NOT NULL')
            before = table._read()
            program, reported = table.refresh()
            assert program.incremental
            assert table.rows == box.answer(QUERIES[name])
            check_churn(table.layout, before, table.stored, reported)


def _ids(found: list[tuple]) -> set[int]:
    return {row[0] for row in found}


def test_rows_that_only_appear_are_appended() -> None:
    with scratch() as con:
        box = Sandbox(con, SCHEMAS, rows(random.Random(1), 9))
        table = Maintained(box, QUERIES["join"])
        box.step({"r": [*box.rows["r"], (1, 7)]}, random.Random(1), noise=False)
        program, _ = table.refresh()
        assert program.apply is ApplyKind.APPEND
        assert table.rows == box.answer(QUERIES["join"])


@pytest.mark.parametrize("key", [(), ("id",)], ids=["bag", "key"])
def test_it_is_told_that_rows_are_compared(key: tuple[str, ...]) -> None:
    definition, _ = prepared(QUERIES["key"], tuple(SCHEMAS.items()), ())
    first = strategies(definition, physical(definition, key))
    assert [n.node for n in first if "other digits" in n.detail] == ["Join inner"]


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT k, SUM(x) AS a, AVG(x) AS b, SUM(v) AS c, AVG(v) AS d FROM t GROUP BY k", "cd"),
        ("SELECT k, VAR_POP(x) AS a, MIN(v) AS b, COUNT(v) AS c FROM t GROUP BY k", "a"),
        ("SELECT k, AVG(CAST(x AS BIGINT)) AS a, AVG(CAST(x AS DECIMAL(9, 2))) AS b FROM t "
         "GROUP BY k", "a"),
        ("SELECT k, COLLECT_LIST(x) AS a, ARRAY_SORT(COLLECT_LIST(x)) AS b FROM t GROUP BY k", "a"),
        ("SELECT k, MAX_BY(x, v) AS a, MAX_BY(x, STRUCT(v, id)) AS b FROM t GROUP BY k", "a"),
        ("SELECT k, COLLECT_LIST(STRUCT(x, id)) AS a, COUNT(*) AS b FROM t GROUP BY k", "a"),
        ("SELECT a + 1 AS b, k AS c FROM (SELECT k, SUM(v) AS a FROM t GROUP BY k)", "b"),
        ("SELECT id AS a, v AS b, RANK() OVER (PARTITION BY k ORDER BY v) AS c, "
         "SUM(v) OVER (PARTITION BY k) AS d FROM t", "d"),
        ("SELECT y AS a, EXISTS (SELECT 1 FROM t GROUP BY k HAVING SUM(v) > r.y) AS b FROM r", "b"),
        ("SELECT e AS a, k AS b FROM (SELECT k, SUM(v) AS s FROM t GROUP BY k) "
         "LATERAL VIEW explode(array(s, 1)) x AS e", "a"),
        ("SELECT x AS a, COUNT(*) AS b FROM (SELECT x, k FROM t GROUP BY x, k HAVING SUM(v) > 1) "
         "GROUP BY x", "b"),
    ],
)  # fmt: skip
def test_what_is_loose(query: str, columns: str) -> None:
    definition, _ = prepared(query, tuple(SCHEMAS.items()), ())
    found = loose(definition.tree).columns
    assert "".join(name for name, c in definition.output if c.name in found) == columns
