"""Texts that other dialects read in another way: what is kept is what Spark answers."""

from __future__ import annotations

import pytest

import headwater
from headwater.core.errors import InvalidQuery, PlanBug
from headwater.refresh import lifecycle
from shared_spark import check, rows

pytestmark = pytest.mark.spark

L = "l (id INT, k INT, x INT, ts TIMESTAMP, xs ARRAY<INT>, st STRUCT<p: INT, q: STRING>)"
QUERIES = {
    "expressions": (
        "SELECT id, ts - INTERVAL 2 HOURS 30 MINUTES AS a, x & k << 1 AS b, x | k >> 1 AS c, "
        "x ^ 1 << 2 AS d, x >>> 1 AS e, x || k + 1 AS f, x + k || id AS g, -128Y AS h, "
        "-9223372036854775808L AS i, ts + INTERVAL 1 DAY + 2 * INTERVAL 1 HOUR AS j, "
        "5 | 3 & 2 ^ x AS m, x - 1 || k * 2 - 1 AS n FROM l"
    ),
    "framed": (
        "SELECT id, k, SUM(x) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN "
        "INTERVAL 1 HOUR 30 MINUTES PRECEDING AND CURRENT ROW) AS s FROM l"
    ),
    "exploded": "SELECT id, e FROM l JOIN LATERAL explode(xs) AS t(e) ON e > 1",
    "padded": (
        "SELECT id, e FROM l LEFT JOIN LATERAL explode(filter(xs, x -> x > id)) AS t(e) ON TRUE"
    ),
    "semi": "SELECT * FROM (SELECT x, k, id FROM l) LEFT SEMI JOIN r USING (k)",
    "anti": "SELECT * FROM (SELECT x, k, id FROM l) LEFT ANTI JOIN r USING (k)",
    "without": "SELECT * EXCEPT (r.k, st) FROM l JOIN r ON l.k = r.k",
    "fields": "SELECT id, st.* EXCEPT (p) FROM l",
    "some": "SELECT id FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k LIMIT 1)",
}
ROUNDS = (
    "INSERT INTO l VALUES (3, 1, 1, TIMESTAMP'2026-01-01 06:00:00', ARRAY(1, 5), "
    "named_struct('p', 3, 'q', 'c')), (4, 2, 1, NULL, NULL, NULL)",
    "INSERT INTO r VALUES (2, 2), (NULL, 5)",
    "DELETE FROM l WHERE id = 2",
    "UPDATE l SET xs = ARRAY(9), k = 2 WHERE id = 1",
    "DELETE FROM r WHERE k = 2",
)


@pytest.fixture
def lake(hub: headwater.Hub) -> headwater.Hub:
    hub.sql(f"CREATE TABLE {L} USING iceberg")
    hub.sql("CREATE TABLE r (k INT, y INT) USING iceberg")
    hub.sql(
        "INSERT INTO l VALUES (1, 1, 2, TIMESTAMP'2026-01-01 05:00:00', ARRAY(1, 2), "
        "named_struct('p', 1, 'q', 'a')), "
        "(2, NULL, 3, TIMESTAMP'2026-01-01 07:00:00', ARRAY(), NULL)"
    )
    hub.sql("INSERT INTO r VALUES (1, 2), (2, 3)")
    return hub


def columns(hub: headwater.Hub, name: str) -> list[str]:
    return [c for c in hub.spark.table(name).columns if not c.startswith("__hw_")]


def test_the_answers_are_those_of_spark(lake: headwater.Hub) -> None:
    for name, query in QUERIES.items():
        lake.create_stream_table(name, query, refresh_mode="INCREMENTAL STRICT")
    check(lake, *QUERIES)
    assert rows(lake, "exploded") == [(1, 2)]
    with pytest.raises(InvalidQuery, match="no condition but TRUE"):
        query = "SELECT id, e FROM l LEFT JOIN LATERAL explode(xs) AS t(e) ON e > id"
        lake.create_stream_table("t", query)
    for number in range(0, len(ROUNDS), 2):
        for statement in ROUNDS[number : number + 2]:
            lake.sql(statement)
        lake.refresh(QUERIES)
        check(lake, *QUERIES)
    assert columns(lake, "semi") == ["k", "x", "id"]
    assert columns(lake, "without") == ["id", "k", "x", "ts", "xs", "y"]
    assert columns(lake, "fields") == ["id", "q"]


def test_a_query_that_is_read_in_another_way_is_refused(
    lake: headwater.Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swapped(text: str) -> str:
        return text.replace("SELECT x, k", "SELECT k, x")

    initial = lifecycle.oracle

    class Misread:
        def __init__(self, *given: object) -> None:
            self._oracle = initial(*given)  # type: ignore[arg-type]

        def newest(self) -> str:
            return swapped(self._oracle.newest())

        def initial(self) -> str:
            return self._oracle.initial()

    monkeypatch.setattr(lifecycle, "oracle", Misread)
    with pytest.raises(PlanBug, match="where Spark has k"):
        lake.create_stream_table("t", "SELECT x, k FROM l")
    assert not lake._runtime.store.tables.all()
