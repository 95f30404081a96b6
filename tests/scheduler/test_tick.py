"""One tick: schedules, tiers, gates, fuse, retries, service levels; each choice with its reason."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headwater.core.errors import InvalidOption
from headwater.core.names import TableName
from headwater.core.schedule import parse_schedule
from headwater.core.spec import Status, Tier
from headwater.graph.dependencies import Graph
from headwater.graph.units import UnitTraits, build_units
from headwater.scheduler.tick import tick
from headwater.scheduler.tick_budget import MAX_ATTEMPTS, Budget, retry_after
from headwater.scheduler.tick_dispatch import ReadyQueue
from headwater.scheduler.tick_sla import first_tier
from headwater.scheduler.tick_state import Decisions, Limits, Retry, TableState, TickState

NOW = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def name(text: str) -> TableName:
    return TableName.parse(text)


def table(text: str, schedule: str = "calculated", **values: Any) -> TableState:
    values.setdefault("last_at", NOW - timedelta(hours=1))
    values.setdefault("fresh_at", NOW - SECOND)
    values["moved"] = tuple(name(m) for m in values.get("moved", "").split())
    return TableState(name(text), parse_schedule(schedule), **values)


def state(reads: dict[str, str], *tables: TableState, **values: Any) -> TickState:
    graph = Graph.build(
        {name(k): [name(w) for w in v.split()] for k, v in reads.items()}, circular=True
    )
    known = {t.name: t for t in tables}
    every = {n: known.get(n, TableState(n, last_at=NOW - SECOND)) for n in graph.order}
    traits = values.pop("traits", {n: UnitTraits(atomic=False) for n in graph.order})
    return TickState(every, graph, build_units(graph, traits), **values)


def codes(made: Decisions) -> dict[str, str]:
    return {n.name: ("+" if c.refresh else "") + c.code for n, c in made.choices.items()}


def one(given: TableState, now: datetime = NOW, **values: Any) -> str:
    made = tick(state({str(given.name): "s"}, given, **values), now)
    choice = made.choices[given.name]
    assert choice.reason
    return ("+" if choice.refresh else "") + choice.code


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (table("t"), "NO_CHANGES"),
        (table("t", moved="s"), "+SOURCES_CHANGED"),
        (table("t", populated=False, last_at=None), "+NOT_POPULATED"),
        (table("t", needs_reinit=True), "+NEEDS_REINIT"),
        (table("t", "5m", needs_reinit=True, last_at=NOW - SECOND), "+NEEDS_REINIT"),
        (table("t", "0 6 * * *", needs_reinit=True, last_at=NOW - SECOND), "+NEEDS_REINIT"),
        (table("t", tier=Tier.COLD, needs_reinit=True, last_at=NOW - SECOND), "+NEEDS_REINIT"),
        (table("t", tier=Tier.FROZEN, needs_reinit=True), "FROZEN"),
        (table("t", uses_clock=True), "+CLOCK_MOVED"),
        (table("t", "5m", uses_clock=True, last_at=NOW - SECOND), "NOT_DUE"),
        (table("t", "5m", moved="s", last_at=NOW - 299 * SECOND), "NOT_DUE"),
        (table("t", "5m", moved="s", last_at=NOW - 300 * SECOND), "+SOURCES_CHANGED"),
        (table("t", "5m", moved="s", tier=Tier.WARM, last_at=NOW - 599 * SECOND), "NOT_DUE"),
        (
            table("t", "5m", moved="s", tier=Tier.WARM, last_at=NOW - 600 * SECOND),
            "+SOURCES_CHANGED",
        ),
        (table("t", "5m", moved="s", slow_factor=2, last_at=NOW - 400 * SECOND), "NOT_DUE"),
        (table("t", "5m", moved="s", last_at=NOW + timedelta(hours=2)), "+SOURCES_CHANGED"),
        (table("t", moved="s", tier=Tier.COLD, last_at=NOW - 9 * SECOND), "TIER"),
        (table("t", moved="s", tier=Tier.COLD, last_at=NOW - 10 * SECOND), "+SOURCES_CHANGED"),
        (table("t", moved="s", tier=Tier.FROZEN), "FROZEN"),
        (table("t", moved="s", status=Status.SUSPENDED), "SUSPENDED"),
        (table("t", moved="s", status=Status.ERROR), "+SOURCES_CHANGED"),
        (table("t", moved="s", gated=(name("s"),)), "GATED"),
        (table("t", moved="s", fuse_ceiling=10, pending_rows=10), "+SOURCES_CHANGED"),
        (table("t", moved="s", fuse_ceiling=10, pending_rows=11), "FUSE_BLOWN"),
        (table("t", moved="s", fuse_blown="too many"), "FUSE_BLOWN"),
        (
            table("t", moved="s", fuse_ceiling=10, pending_rows=11, fuse_passes=True),
            "+SOURCES_CHANGED",
        ),
    ],
)  # fmt: skip
def test_a_choice_and_its_reason(given: TableState, expected: str) -> None:
    assert one(given) == expected


def test_cron_is_an_appointment_in_its_zone() -> None:
    berlin = "0 6 * * * Europe/Berlin"  # 05:00 UTC in March
    last = datetime(2026, 3, 1, 5, 0, 1, tzinfo=UTC)
    early = table("t", berlin, moved="s", last_at=last, tier=Tier.COLD)
    assert one(early, datetime(2026, 3, 2, 4, 59, 59, tzinfo=UTC)) == "NOT_DUE"
    assert one(early, datetime(2026, 3, 2, 5, 0, tzinfo=UTC)) == "+SOURCES_CHANGED"
    idle = replace(early, moved=())
    made = tick(state({"t": "s"}, idle), datetime(2026, 3, 2, 5, 0, 1, tzinfo=UTC))
    assert made.looked == (name("t"),), "a look that finds nothing keeps the appointment"


def test_a_reader_is_refreshed_in_the_same_tick() -> None:
    made = tick(state({"a": "s", "b": "a", "c": "b"}, table("a", moved="s")), NOW)
    assert codes(made) == {"a": "+SOURCES_CHANGED", "b": "+UPSTREAM_DUE", "c": "+UPSTREAM_DUE"}


def test_a_calculated_table_waits_until_a_reader_is_due() -> None:
    reads = {"a": "s", "b": "a"}
    moved = table("a", moved="s")
    slow = table("b", "10m", last_at=NOW - 60 * SECOND)
    assert codes(tick(state(reads, moved, slow), NOW))["a"] == "NOT_ASKED"
    due = replace(slow, last_at=NOW - 600 * SECOND)
    assert codes(tick(state(reads, moved, due), NOW)) == {
        "a": "+SOURCES_CHANGED",
        "b": "+UPSTREAM_DUE",
    }
    parked = replace(slow, status=Status.SUSPENDED)
    assert codes(tick(state(reads, moved, parked), NOW))["a"] == "+SOURCES_CHANGED"


def test_a_due_table_is_not_held_back_by_an_idle_upstream() -> None:
    given = state({"a": "s1", "b": "a s2"}, table("b", moved="s2"))
    made = tick(replace(given, awake=frozenset([name("b")])), NOW)
    assert codes(made)["b"] == "+SOURCES_CHANGED"


def test_long_chains_of_calculated_tables() -> None:
    reads = {f"t{i:04d}": f"t{i - 1:04d}" if i else "s" for i in range(3000)}
    made = tick(state(reads, table("t0000", moved="s"), traits={}), NOW)
    assert len(made.choices) == 3000
    assert len(made.runs) == 1, "a chain is one unit"


DIAMOND = {"left": "s", "right": "s", "top": "left right"}


def test_members_of_a_diamond_run_together() -> None:
    late = table("left", "10m", moved="s", last_at=NOW - SECOND)
    made = tick(state(DIAMOND, late, table("right", moved="s"), traits={}), NOW)
    assert codes(made) == {
        "left": "+GROUP_DUE",
        "right": "+SOURCES_CHANGED",
        "top": "+UPSTREAM_DUE",
    }
    assert [len(r.members) for r in made.runs] == [3]


def test_the_slowest_policy_waits_for_all_members() -> None:
    late = table("left", "10m", moved="s", last_at=NOW - SECOND)
    top = table("top", waits_for_slowest=True)
    made = tick(state(DIAMOND, late, table("right", moved="s"), top, traits={}), NOW)
    assert codes(made) == {"left": "NOT_DUE", "right": "GROUP_WAITS", "top": "GROUP_WAITS"}
    assert made.runs == ()


def test_a_suspended_arm_holds_the_top_and_not_the_other_arm() -> None:
    parked = table("left", moved="s", status=Status.SUSPENDED)
    made = tick(state(DIAMOND, parked, table("right", moved="s"), traits={}), NOW)
    assert codes(made) == {
        "left": "SUSPENDED",
        "right": "+SOURCES_CHANGED",
        "top": "GROUP_HELD",
    }
    assert [r.members for r in made.runs] == [(name("right"),)]


def test_a_unit_that_runs_or_failed_waits() -> None:
    moved = table("t", moved="s")
    assert one(moved, busy=frozenset([name("t")])) == "IN_FLIGHT"
    waiting = {"singleton:default.t": Retry(2, NOW - SECOND, NOW + SECOND)}
    assert one(moved, retries=waiting) == "BACKOFF"
    assert one(moved, NOW + SECOND, retries=waiting) == "+SOURCES_CHANGED"
    assert one(moved, NOW - timedelta(hours=1), retries=waiting) == "+SOURCES_CHANGED"
    made = tick(state({"t": "s"}, moved, retries=waiting), NOW + SECOND)
    assert made.runs[0].attempt == 3


def test_the_scheduler_can_be_switched_off() -> None:
    assert one(table("t", moved="s"), limits=Limits(enabled=False)) == "DISABLED"


def test_back_pressure_is_told_once_for_each_crossing() -> None:
    given = state({"t": "s"}, limits=Limits(pressure_rows=10, pressure_ticks=3))
    told = []
    counters: dict[TableName, int] = {}
    for rows in (11, 11, 11, 11, 11, 10, 11, 11, 11):
        made = tick(replace(given, pressure=counters, source_rows={name("s"): rows}), NOW)
        counters = dict(made.pressure)
        told.append([(a.source.name, a.consecutive_cycles) for a in made.alerts])
    assert told == [[], [], [("s", 3)], [], [], [], [], [], [("s", 3)]]


# -- service levels --------------------------------------------------------------------------


def ticks(given: TableState, gaps: list[float], **limits: Any) -> list[str]:
    """The tier after each tick, when ticks come at these distances in seconds."""
    tiers, now = [], NOW
    for gap in gaps:
        given = replace(given, fresh_at=now)
        now += gap * SECOND
        made = tick(state({"t": "s"}, given, limits=Limits(**limits)), now)
        misses, spare = made.signals.get(given.name, (given.sla_misses, given.sla_spare))
        given = replace(given, sla_misses=misses, sla_spare=spare)
        for change in made.tiers:
            assert change.before is given.tier
            given = replace(given, tier=change.after)
        tiers.append(given.tier.value)
    return tiers


def test_missed_deadlines_promote_within_three_ticks() -> None:
    cold = table("t", deadline=30 * SECOND, tier=Tier.COLD)
    assert ticks(cold, [60] * 6) == ["cold", "cold", "warm", "warm", "warm", "hot"]


def test_spare_time_demotes_to_the_slowest_tier_that_fits() -> None:
    hot = table("t", deadline=30 * SECOND)
    assert ticks(hot, [1] * 9) == ["hot", "hot", "warm", "warm", "warm", *["cold"] * 4]
    assert ticks(replace(hot, deadline=5 * SECOND), [1] * 9)[-1] == "warm", "cold would be 10 s"
    assert ticks(hot, [20] * 9)[-1] == "hot", "more than half of it is used"


def test_signals_must_come_in_a_row() -> None:
    cold = table("t", deadline=30 * SECOND, tier=Tier.COLD)
    assert set(ticks(cold, [60, 60, 20, 60, 60, 20, 60, 60])) == {"cold"}


@pytest.mark.parametrize(
    ("seconds", "schedule", "mean", "depth", "tier"),
    [
        (1, "calculated", 0, 0, "hot"),
        (2, "calculated", 0, 0, "warm"),
        (30, "calculated", 0, 0, "cold"),
        (30, "calculated", 2, 10, "cold"),
        (30, "calculated", 5, 10, "warm"),
        (30, "10s", 0, 0, "warm"),
        (300, "10s", 0, 0, "cold"),
    ],
)
def test_the_first_tier_is_the_slowest_that_fits(
    seconds: int, schedule: str, mean: int, depth: int, tier: str
) -> None:
    given = table("t", schedule, deadline=seconds * SECOND)
    limits = Limits(mean=mean * SECOND, workers=1 + bool(mean))
    assert first_tier(given, limits, depth) == tier


def test_a_deadline_that_cannot_be_kept_is_refused() -> None:
    with pytest.raises(InvalidOption, match=r"cannot be kept.*60\.0 s"):
        first_tier(table("t", "60s", deadline=30 * SECOND), Limits())


# -- budget, retries, queue ------------------------------------------------------------------


def test_the_budget_of_two_hubs() -> None:
    alone = Budget(per_hub=4, cap=4)
    assert [alone.free(n, 0) for n in range(5)] == [4, 3, 2, 1, 0]
    shared = Budget(per_hub=4, cap=4, hubs=2)
    assert shared.share == 2
    assert shared.free(0, 0) == 3, "under 80 % load a hub may use 150 % of its share"
    assert shared.free(2, 1) == 1, "three of four is not 80 % of them"
    assert shared.free(1, 3) == 0, "the cap holds for all together"
    assert shared.free(2, 2) == 0
    assert Budget(per_hub=0).free(0, 0) == 1
    assert Budget(mode="off").free(1, 0) == 0
    assert Budget(mode="dry_run").free(0, 3) == 1
    assert Budget(quota=3, cap=4, hubs=4).share == 3


def test_no_hub_is_ever_without_a_worker_for_long() -> None:
    """With equal shares each hub gets its share, whoever came first."""
    two = Budget(per_hub=8, cap=8, hubs=2)
    first = 0
    while two.free(first, 0):
        first += 1
    assert first == 6
    second = 0
    while two.free(second, first):
        second += 1
    assert second == 2
    assert two.free(5, 2) == 0, "over 80 % the one above its share gets nothing new"
    assert two.free(2, 5) == 1


def test_waits_double_up_to_a_minute_and_differ_between_units() -> None:
    waits = [retry_after("k", n, NOW) for n in range(1, MAX_ATTEMPTS + 1)]
    assert waits[-1] is None
    for attempt, retry in enumerate(waits[:-1]):
        assert retry is not None
        wait = (retry.not_before - NOW) / SECOND
        assert 0.75 * 2**attempt <= wait <= 1.25 * 2**attempt
    spread = {retry_after(f"unit {n}", 3, NOW) for n in range(40)}
    assert len(spread) > 5


def test_older_turns_go_first_then_kinds_then_tiers() -> None:
    reads = {"lone": "s", "cold": "s", "a": "s", "b": "a"}
    tables = [table(n, moved="s", tier=Tier.COLD if n == "cold" else Tier.HOT) for n in reads]
    given = state(reads, *tables, traits={})
    made = tick(given, NOW)
    queue = ReadyQueue()
    queue.add(made.runs, given.graph, given.units, tick=2)
    assert [e.run.unit.members[0].name for e in queue.ready()] == ["a", "lone", "cold"]
    late = ReadyQueue()
    late.add([r for r in made.runs if r.tier is Tier.COLD], given.graph, given.units, tick=1)
    late.add(made.runs, given.graph, given.units, tick=2)
    assert late.ready()[0].run.unit.members[0].name == "cold"
    assert late.ready()[0].tick == 2, "it keeps its turn and reads the newer versions"


def test_closures_go_first_then_groups_then_single_tables_then_circles() -> None:
    reads = {
        "loop": "s pool", "pool": "loop",
        "cold": "s", "lone": "s",
        "left": "s", "right": "s", "top": "left right",
        "head": "s", "tail": "head",
        "root": "s", "leaf": "root",
        "over": "lone cold",
    }  # fmt: skip
    traits = {name(n): UnitTraits(immediate=n == "leaf") for n in reads}
    traits |= {name(n): UnitTraits(atomic=False) for n in ("over", "lone", "cold")}
    moved = ("loop", "cold", "lone", "left", "right", "head", "root")
    tables = [table(n, moved="s", tier=Tier.COLD if n in ("cold", "root") else Tier.HOT)
              for n in moved]  # fmt: skip
    given = state(reads, *tables, traits=traits, limits=Limits(circular=True))
    queue = ReadyQueue()
    queue.add(tick(given, NOW).runs, given.graph, given.units, tick=1)
    expected = [
        ("immediate_closure", "root leaf"),
        ("fused_chain", "head tail"),
        ("atomic_group", "left right top"),
        ("singleton", "lone"),
        ("singleton", "cold"),
        ("singleton", "over"),
        ("cyclic_scc", "loop pool"),
    ]
    planned = [(e.run.unit.kind.value, " ".join(m.name for m in e.run.members))
               for e in queue.order()]  # fmt: skip
    assert planned == expected
    started = []
    while queue.queued:
        (entry,) = queue.start(1)
        started.append((entry.run.unit.kind.value, " ".join(m.name for m in entry.run.members)))
        queue.succeeded(entry.key)
    assert started == expected, "what was planned is what is done"


def test_a_failure_takes_back_its_readers_only() -> None:
    reads = {"a": "s", "b1": "a", "b2": "a", "c": "b1", "other": "s"}
    given = state(reads, *[table(n, moved="s") for n in ("a", "other")])
    queue = ReadyQueue()
    queue.add(tick(given, NOW).runs, given.graph, given.units, tick=1)
    started = {e.run.members[0].name: e.key for e in queue.start(9)}
    assert set(started) == {"a", "other"}
    held = [m.name for e in queue.failed(started["a"]) for m in e.run.members]
    assert sorted(held) == ["b1", "b2", "c"]
    assert held.index("b1") <= held.index("c")
    assert list(queue.running) == [started["other"]]


def test_a_circle_that_nobody_reads_asks_for_itself() -> None:
    tables = (table("a", moved="s"), table("b"))
    made = tick(state({"a": "s b", "b": "a"}, *tables, limits=Limits(circular=True)), NOW)
    assert codes(made) == {"a": "+SOURCES_CHANGED", "b": "+UPSTREAM_DUE"}


@pytest.mark.parametrize("schedule", ["calculated", "1s"])
def test_a_circle_is_refreshed_only_when_circles_are_allowed(schedule: str) -> None:
    reads = {"a": "s b", "b": "a", "over": "a"}
    tables = (table("a", schedule, moved="s"), table("b"), table("over"))
    made = tick(state(reads, *tables), NOW)
    assert codes(made)["a"] == "CIRCLE"
    assert made.runs == ()
    made = tick(state(reads, *tables, limits=Limits(circular=True)), NOW)
    assert [run.unit.kind.value for run in made.runs] == ["cyclic_scc", "singleton"]
    assert codes(made)["over"] == "+UPSTREAM_DUE"
