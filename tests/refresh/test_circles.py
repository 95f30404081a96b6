"""Stream tables that read each other in a circle: the smallest content that fits, or a refusal."""

from __future__ import annotations

import pytest

import headwater
from headwater.core.errors import DependencyCycle, FixpointNotReached, HasDependents
from shared_spark import check, rows

pytestmark = pytest.mark.spark

ODD = "SELECT a, b FROM edges UNION SELECT e.a, v.b FROM edges e JOIN {even} v ON e.b = v.a"
EVEN = "SELECT DISTINCT e.a, o.b FROM edges e JOIN odd o ON e.b = o.a"
EMPTY = "SELECT a, b FROM edges WHERE a < b AND a > b"


@pytest.fixture
def circle(hub: headwater.Hub) -> headwater.Hub:
    """Paths of odd and of even length, each made from the other."""
    hub.set("allow_circular", True)
    hub.sql("CREATE TABLE edges (a INT, b INT) USING iceberg")
    hub.sql("INSERT INTO edges VALUES (1, 2), (2, 3), (3, 4)")
    hub.create_stream_table("odd", ODD.format(even=f"({EMPTY})"))
    hub.create_stream_table("even", EVEN)
    hub.alter_stream_table("odd", query=ODD.format(even="even"))
    return hub


def paths(edges: set[tuple[int, int]]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Ends of paths of odd and of even length, by another way."""
    odd, even = set(edges), set()
    while True:
        more_even = {(a, d) for a, b in edges for c, d in odd if b == c}
        more_odd = edges | {(a, d) for a, b in edges for c, d in more_even if b == c}
        if (more_odd, more_even) == (odd, even):
            return sorted(odd, key=repr), sorted(even, key=repr)
        odd, even = more_odd, more_even


def settles(hub: headwater.Hub, edges: set[tuple[int, int]]) -> None:
    check(hub, "odd", "even")
    assert (rows(hub, "odd"), rows(hub, "even")) == paths(edges)


def test_a_circle_settles_and_follows_its_sources(circle: headwater.Hub) -> None:
    circle.tick()
    edges = {(1, 2), (2, 3), (3, 4)}
    settles(circle, edges)

    circle.sql("INSERT INTO edges VALUES (4, 5), (5, 1)")
    report = circle.tick()
    assert not report.errors
    edges |= {(4, 5), (5, 1)}
    settles(circle, edges)
    assert circle.tick().idle, "a circle that has settled rests"

    circle.sql("DELETE FROM edges WHERE a = 5")  # its paths support each other around the ring
    circle.refresh_stream_table("even")
    edges -= {(5, 1)}
    settles(circle, edges)
    reasons = [h.reason for h in circle.history("odd", limit=20)]
    assert "its circle is computed from the start" in reasons
    assert circle.units()[0].kind == "cyclic_scc"


def test_a_circle_must_be_allowed_and_monotone(hub: headwater.Hub) -> None:
    hub.sql("CREATE TABLE t (a INT) USING iceberg")
    hub.create_stream_table("x", "SELECT a FROM t")
    hub.create_stream_table("y", "SELECT a FROM x")
    with pytest.raises(DependencyCycle, match=r"default\.x reads default\.y reads default\.x"):
        hub.alter_stream_table("x", query="SELECT a FROM t UNION SELECT a FROM y")
    hub.set("allow_circular", True)
    for query, what in {
        "SELECT MAX(a) AS a FROM y": "Aggregate",
        "SELECT t.a FROM t LEFT JOIN y ON t.a = y.a": "Join",
        "SELECT a FROM t EXCEPT SELECT a FROM y": "SetOperation",
    }.items():
        with pytest.raises(DependencyCycle, match=f"not monotone: {what}"):
            hub.alter_stream_table("x", query=query)
    assert hub.status("x")[0].needs_reinit is False, "nothing was changed"


@pytest.mark.long
def test_a_circle_that_does_not_settle_fails(hub: headwater.Hub) -> None:
    hub.set("allow_circular", True)
    hub.set("max_fixpoint_iterations", 2)
    hub.sql("CREATE TABLE t (a INT) USING iceberg")
    hub.sql("INSERT INTO t VALUES (1)")
    hub.create_stream_table("x", "SELECT a FROM t")
    hub.create_stream_table("y", "SELECT DISTINCT a + 1 AS a FROM x")
    hub.alter_stream_table("x", query="SELECT a FROM t UNION SELECT a FROM y")
    with pytest.raises(FixpointNotReached, match="2 rounds"):
        hub.refresh_stream_table("x")
    assert [h.error_code for h in hub.history("x", limit=1)] == ["HW3006"]
    assert [h.error_code for h in hub.history("y", limit=1)] == ["HW3006"]


def test_a_circle_is_dropped_as_a_whole(circle: headwater.Hub) -> None:
    circle.tick()
    with pytest.raises(HasDependents, match=r"default\.odd is read by default\.even"):
        circle.drop_stream_table("odd")
    check(circle, "odd", "even")

    circle.drop_stream_table("odd", cascade=True)
    assert circle.status() == ()
    assert not [n for n in circle._runtime.tables.locations() if n.name in ("odd", "even")]
