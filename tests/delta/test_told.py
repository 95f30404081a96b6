"""What scans are told, and how often a table is read for the rows of some keys."""

from __future__ import annotations

import re

import pytest
from delta_harness import Tables

from headwater.delta.change import Change
from headwater.delta.compile import Program, compile_refresh
from headwater.delta.layout import layout
from headwater.sql.define import define

SCHEMAS = Tables(
    {
        "o": "ok int, ck int, day date",
        "l": "ok int, pk int, x int",
        "c": "ck int, name string",
        "d": "ok int, v double",
    }
)
BOTH = ("l", "o")


def program(query: str, changed: tuple[str, ...] = BOTH) -> Program:
    definition = define(query, SCHEMAS)
    moved = {s: Change.MIXED for s in definition.sources if s.name in changed}
    return compile_refresh(definition, layout(definition), moved)


def scans(query: str, changed: tuple[str, ...] = BOTH) -> list[tuple[str, str, list[str]]]:
    """Each scan of stored rows: table, version, and the columns it is told values for."""
    told = program(query, changed)
    sources = define(query, SCHEMAS).sources
    found = []
    for text in [stage.sql for stage in told.stages] + [told.statement]:
        parts = re.split(r"FROM `__hw_src_(\d+)_(new|old)`", text)
        for number, at, after in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            where = after.partition(") AS t")[0]
            asked = re.findall(r"__HW_AMONG\([^)]*, `(\w+)`\)", where)
            found.append((sources[int(number)].name, at, asked))
    return found


def test_each_side_of_a_join_is_told_the_keys_of_the_other_ones_window() -> None:
    query = "SELECT o.day, SUM(l.x) AS s FROM o JOIN l ON o.ok = l.ok WHERE l.x > 1 GROUP BY o.day"
    assert sorted(scans(query)) == [("l", "old", ["ok"]), ("o", "new", ["ok"])]


def test_values_go_through_joins_to_every_table_they_reach() -> None:
    query = (
        "SELECT c.name, SUM(l.x) AS s FROM c JOIN o ON c.ck = o.ck JOIN l ON o.ok = l.ok "
        "GROUP BY c.name"
    )
    assert ("l", "old", ["ok"]) in scans(query, ("o",)) or ("l", "new", ["ok"]) in scans(
        query, ("o",)
    )
    assert ("c", "new", ["ck"]) in scans(query, ("o",))


def test_tables_that_stay_are_read_once_when_several_change() -> None:
    """And told the values of what the changed ones give together."""
    query = (
        "SELECT c.name, SUM(l.x) AS s FROM c JOIN o ON c.ck = o.ck JOIN l ON o.ok = l.ok "
        "GROUP BY c.name"
    )
    assert sorted(scans(query)) == [
        ("c", "new", ["ck"]),
        ("l", "old", ["ok"]),
        ("o", "new", ["ok"]),
    ]


def test_changed_tables_that_only_a_third_one_joins_are_terms_of_their_own() -> None:
    query = (
        "SELECT l.x, c.name, d.v FROM o JOIN c ON c.ck = o.ck JOIN l ON l.ok = o.ok "
        "JOIN d ON d.ok = o.ok"
    )
    found = scans(query, ("c", "l"))
    assert [table for table, _, _ in found].count("o") == 2


def test_values_go_below_an_aggregate() -> None:
    query = (
        "SELECT o.day, SUM(t.n) AS s FROM o JOIN (SELECT ok, COUNT(*) AS n FROM l GROUP BY ok) t "
        "ON o.ok = t.ok GROUP BY o.day"
    )
    assert all(asked for table, _, asked in scans(query, ("o",)) if table == "l")


def test_values_come_from_the_keys_that_rows_were_selected_by() -> None:
    """Those of a group whose condition turned are among those of the rows that changed."""
    query = (
        "SELECT o.day, SUM(l.x) AS s FROM o JOIN l ON o.ok = l.ok "
        "WHERE o.ok IN (SELECT ok FROM l GROUP BY ok HAVING SUM(x) > 300) GROUP BY o.day"
    )
    assert all(asked for _, _, asked in scans(query))
    assert program(query).whole == ()


def test_a_filter_of_an_outer_join_is_told_nothing_about_rows_it_keeps() -> None:
    query = "SELECT o.ok, l.x FROM o LEFT JOIN l ON o.ok = l.ok"
    assert ("o", "new", ["ok"]) not in scans(query, ("c",))
    assert all(asked == ["ok"] for table, _, asked in scans(query, ("o",)) if table == "l")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT n, COUNT(*) AS m FROM (SELECT ck, COUNT(*) AS n FROM o GROUP BY ck) GROUP BY n",
        "SELECT c.name FROM c WHERE EXISTS (SELECT 1 FROM o WHERE o.ck = c.ck AND o.ok > 1)",
        "SELECT c.name FROM c WHERE NOT EXISTS (SELECT 1 FROM o WHERE o.ck = c.ck)",
        "SELECT c.name, o.day FROM c LEFT JOIN o ON o.ck = c.ck",
    ],
)
def test_rows_of_affected_keys_are_read_once_for_both_versions(query: str) -> None:
    assert [(table, at) for table, at, _ in scans(query) if table == "o"] == [("o", "new")]


def test_a_subquery_is_read_once_for_the_keys_of_the_rows_it_concerns() -> None:
    query = (
        "SELECT SUM(l.x) AS s FROM l JOIN c ON c.ck = l.pk "
        "WHERE c.name = 'a' AND l.x < (SELECT AVG(m.x) FROM l AS m WHERE m.pk = c.ck)"
    )
    rows, *inner = sorted((at, asked) for table, at, asked in scans(query, ("l",)) if table == "l")
    assert (rows, inner) == (("new", ["pk"]), [("new", ["pk"]), ("old", [])])
    assert program(query, ("l",)).whole.count("default.l") == 1


def test_floating_point_rows_are_read_at_each_version() -> None:
    query = "SELECT n, COUNT(*) AS m FROM (SELECT ok, MAX(v) AS n FROM d GROUP BY ok) GROUP BY n"
    assert sorted(at for _, at, _ in scans(query, ("d",))) == ["new", "old"]


def test_groups_by_a_sum_of_floating_point_numbers_are_compared_with_what_is_stored() -> None:
    query = "SELECT n, COUNT(*) AS m FROM (SELECT ok, SUM(v) AS n FROM d GROUP BY ok) GROUP BY n"
    assert [at for _, at, _ in scans(query, ("d",))] == ["new"]


def test_a_merge_can_have_its_rows_computed_before() -> None:
    told = program("SELECT ok, SUM(x) AS s FROM l GROUP BY ok", ("l",))
    assert told.source is None
    assert told.using is not None
    assert told.statement.count(told.using) == 1
    assert "__HW_AMONG('__hw_stage_using', 'ok', t.`ok`)" in told.statement


def test_what_is_read_whole_is_known_before() -> None:
    twice = "SELECT c.name FROM c WHERE c.ck > (SELECT MAX(l.x) FROM l)"
    assert set(program(twice, ("l",)).whole) >= {"default.c", "default.l"}
    joined = "SELECT o.day, SUM(l.x) AS s FROM o JOIN l ON o.ok = l.ok GROUP BY o.day"
    assert program(joined).whole == ()
    assert program("SELECT ok, SUM(x) AS s FROM l GROUP BY ok", ("l",)).whole == ()
