"""What a definition says about its query: reasons, clocks, sources, views."""

from __future__ import annotations

import hashlib
import time

import pytest
from sql_harness import SCHEMAS, Tables, defined

from headwater.core.names import TableName
from headwater.sql.lookup import FunctionFact
from headwater.sql.operators import Filter, Opaque


def codes(text: str, lookup: Tables | None = None) -> dict[str, str]:
    definition = defined(text, lookup or Tables(SCHEMAS))
    return {fact.reason_code: fact.severity for fact in definition.facts}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT id, rand() AS r FROM t", {"NONDET_FUNC": "full"}),
        ("SELECT id, uuid() AS r FROM t", {"NONDET_FUNC": "full"}),
        ("SELECT id FROM t WHERE monotonically_increasing_id() > 1", {"NONDET_FUNC": "full"}),
        ("SELECT id, current_date() AS d FROM t", {"CLOCK": "full"}),
        ("SELECT id, now() AS n FROM t", {"CLOCK": "full"}),
        ("SELECT id, unix_timestamp() AS n FROM t", {"CLOCK": "full"}),
        ("SELECT id, current_user() AS n FROM t", {"CLOCK": "full"}),
        ("SELECT id FROM ev WHERE ts + INTERVAL 1 DAY > now() OR id = 1", {"CLOCK_SCAN": "info"}),
        ("SELECT id FROM ev WHERE NOT (ts > now())", {"CLOCK_SCAN": "info"}),
        ("SELECT id FROM ev WHERE datediff(current_date(), day) <= 7", {"CLOCK_SCAN": "info"}),
        ("SELECT id FROM ev GROUP BY id HAVING MAX(ts) > now() - INTERVAL 1 DAY", {}),
        ("SELECT id FROM ev GROUP BY id HAVING MAX(now()) > MAX(ts)", {"CLOCK": "full"}),
        ("SELECT id FROM ev WHERE 1 / datediff(current_date(), day) < 7", {"CLOCK": "full"}),
        ("SELECT id FROM ev WHERE ts > current_timestamp() - INTERVAL 7 DAYS", {}),
        ("SELECT id FROM ev WHERE day BETWEEN current_date() - 7 AND current_date()", {}),
        ("SELECT ev.id FROM ev JOIN t ON ev.id = t.id AND ts > now()", {}),
        ("SELECT ev.id FROM t LEFT JOIN ev ON ev.id = t.id AND ts > now()", {"CLOCK": "full"}),
        ("SELECT id FROM t TABLESAMPLE (10 PERCENT)", {"SAMPLE": "full"}),
        ("SELECT id FROM t LIMIT 3", {"LIMIT_NO_ORDER": "full"}),
        ("SELECT id FROM t LIMIT ALL", {}),
        ("SELECT id FROM t ORDER BY id LIMIT 3", {}),
        ("SELECT id, x FROM t ORDER BY x LIMIT 3", {"TIES": "info"}),
        ("SELECT g, collect_list(x) AS l FROM t GROUP BY g", {"ORDER_AGG": "warning"}),
        ("SELECT g, first(x) AS l FROM t GROUP BY g", {"ORDER_AGG": "warning"}),
        ("SELECT g, array_sort(collect_list(x)) AS l FROM t GROUP BY g", {}),
        ("SELECT g, max_by(x, struct(id, s)) AS l FROM t GROUP BY g", {}),
        ("SELECT g, SUM(x) AS l FROM t GROUP BY g", {}),
        ("SELECT id, ROW_NUMBER() OVER (ORDER BY x) AS r FROM t", {"WINDOW_TIES": "info"}),
        ("SELECT id, RANK() OVER (ORDER BY x) AS r FROM t", {}),
        (
            "SELECT SUM(amount) AS a FROM ev GROUP BY session_window(ts, '5 minutes')",
            {"SESSION_WINDOW": "full"},
        ),
        ("SELECT id, SUM(amount) AS a FROM ev GROUP BY id, session_window(ts, '5 minutes')", {}),
        (
            "SELECT id, COUNT(*) AS n FROM ev GROUP BY id, session_window(ts, CAST(id AS STRING))",
            {"SESSION_WINDOW": "full"},
        ),
    ],
)
def test_facts(text: str, expected: dict[str, str]) -> None:
    assert codes(text) == expected


def test_facts_have_places_and_advice() -> None:
    text = "SELECT id,\n  rand() AS r FROM t"
    (fact,) = defined(text).facts
    assert fact.place is not None
    assert (fact.place.line, fact.place.column) == (2, 3)
    assert fact.advice


def test_registered_functions_tell_whether_they_are_deterministic() -> None:
    lookup = Tables(
        SCHEMAS,
        functions={"dice": FunctionFact(deterministic=False), "half": FunctionFact()},
    )
    assert codes("SELECT dice(id) AS d FROM t", lookup) == {"NONDET_FUNC": "full"}
    assert codes("SELECT half(id) AS d FROM t", lookup) == {}


def test_registered_aggregates_group() -> None:
    lookup = Tables(SCHEMAS, functions={"my_sum": FunctionFact(aggregate=True)})
    definition = defined("SELECT g, my_sum(x) AS s FROM t GROUP BY g", lookup)
    assert type(definition.tree).__name__ == "Aggregate"


def test_the_clock_becomes_a_hole() -> None:
    definition = defined("SELECT id FROM ev WHERE ts > current_timestamp() - INTERVAL 7 DAYS")
    assert definition.uses_clock
    (predicate,) = [n.predicate for n in definition.tree.walk() if isinstance(n, Filter)]
    assert "CAST('__hw_now' AS TIMESTAMP) - INTERVAL '7' DAYS" in predicate.sql("spark")
    assert not defined("SELECT id FROM ev").uses_clock


def test_a_clock_stays_a_filter_above_a_join() -> None:
    tree = defined("SELECT ev.id FROM ev, t WHERE ev.id = t.id AND ts > now() - t.x").tree
    joins = [n for n in tree.walk() if type(n).__name__ == "Join"]
    assert "__hw_now" not in joins[0].expressions[0].sql()


def test_samples_are_opaque_over_their_scan() -> None:
    tree = defined("SELECT id FROM t TABLESAMPLE (10 PERCENT)").tree
    (opaque,) = [n for n in tree.walk() if isinstance(n, Opaque)]
    assert "`__hw_in_0` TABLESAMPLE (10 PERCENT)" in opaque.text
    assert opaque.scans[0].table == TableName("default", "t")


def test_sources_and_used_columns() -> None:
    definition = defined(
        "SELECT a.id FROM t a JOIN t b ON a.g = b.x WHERE EXISTS (SELECT 1 FROM u WHERE u.k = a.id)"
    )
    assert [s.name for s in definition.sources] == ["t", "u"]
    used = {t.name: [f.name for f in fields] for t, fields in definition.used.items()}
    assert used == {"t": ["id", "g", "x"], "u": ["k"]}


def test_views_are_expanded_and_hashed() -> None:
    text = "SELECT id, x + 1 AS y FROM t WHERE x > 0"
    lookup = Tables(SCHEMAS, views={"w": text})
    definition = defined("SELECT a.y, b.y AS z FROM w a JOIN w b ON a.id = b.id", lookup)
    assert [s.name for s in definition.sources] == ["t"]
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    assert definition.views == {"default.w": digest}
    used = [f.name for f in definition.used[TableName("default", "t")]]
    assert used == ["id", "x"]


def test_warnings_are_sentences() -> None:
    (warning,) = defined("SELECT g, first(x) AS f FROM t GROUP BY g").warnings
    assert warning.startswith("first() depends on the order of rows")


@pytest.mark.timed
def test_defining_is_quick() -> None:
    text = (
        "SELECT t.g, SUM(t.d * (1 - t.d)) AS s, COUNT(*) AS n FROM t, u, v, ev "
        "WHERE t.id = u.id AND u.k = v.k AND ev.id = t.id AND t.x > 5 AND v.z < 10 "
        "AND t.x NOT IN (SELECT y FROM u) AND EXISTS (SELECT 1 FROM v w WHERE w.k = u.k) "
        "GROUP BY t.g HAVING SUM(t.d) > (SELECT AVG(z) FROM v) ORDER BY s LIMIT 10"
    )
    spent = []
    for _ in range(5):
        begin = time.process_time()
        defined(text)
        spent.append(time.process_time() - begin)
    assert min(spent) < 0.05
