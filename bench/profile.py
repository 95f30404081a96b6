"""Where the time of a small refresh goes: control plane, planning, jobs, commit, publish.

    python -m bench.profile [--rounds N]

The same tables and changes as `bench.refresh_floor`. The control plane is timed by the stages that
a refresh tells its listeners, Spark by its event log; a bare append is taken apart the same way.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import headwater
from bench.measure import save
from bench.refresh_floor import prepare
from headwater.observe.events import Event, StageEvent

Moments = dict[str, float]
_SPARK = {
    "SparkListenerSQLExecutionStart": ("time", "analysed"),
    "SparkListenerJobStart": ("Submission Time", "planned"),
    "SparkListenerJobEnd": ("Completion Time", "computed"),
    "SparkListenerSQLExecutionEnd": ("time", "committed"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--warm", type=int, default=40)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "events").mkdir()
        project = place / "headwater.toml"
        project.write_text(
            "[spark]\n"
            '"eventLog.enabled" = "true"\n"eventLog.compress" = "false"\n'
            '"eventLog.rolling.enabled" = "false"\n'
            f'"eventLog.dir" = "file://{place / "events"}"\n'
        )
        with headwater.connect(project) as hub:
            taken = measured(hub, arguments.rounds, arguments.warm)
        told = sorted(events(next((place / "events").iterdir())))
    result = {name: shares(moments, told) for name, moments in taken.items()}
    for name, parts in result.items():
        whole = sum(parts.values())
        print(f"{name} {whole:.0f} ms")
        for part, ms in parts.items():
            print(f"  {part:<8} {ms:6.1f} ms {100 * ms / whole:4.0f} %")
    save("profile", {"medians_ms": result})
    return 0


def measured(hub: headwater.Hub, rounds: int, warm: int) -> dict[str, list[Moments]]:
    """Instants in milliseconds: start, statement sent, statement done, end."""
    prepare(hub)
    ids = itertools.count(10_000_000, 10)
    now: Moments = {}

    def listen(event: Event) -> None:
        if isinstance(event, StageEvent) and event.stage == "apply":
            now["sent" if event.moment == "start" else "done"] = time.time() * 1000

    hub.subscribe(listen)

    def timed(act: Callable[[], object]) -> Moments:
        now.clear()
        started = time.time() * 1000
        act()
        ended = time.time() * 1000
        return {"sent": started, "done": ended, **now, "started": started, "ended": ended}

    taken: dict[str, list[Moments]] = {"bare append": [], "aggregate": [], "projection": []}
    for number in range(warm + rounds):
        start = next(ids)
        hub.sql(
            f"INSERT INTO src SELECT id, id * 7 % 10000, id, 'n' FROM range({start}, {start + 10})"
        )
        found = {
            "bare append": timed(lambda: hub.sql("INSERT INTO bare VALUES (1, 'a')")),
            "aggregate": timed(lambda: hub.refresh_stream_table("aggregate")),
            "projection": timed(lambda: hub.refresh_stream_table("projection")),
        }
        for name, moments in found.items():
            if number >= warm:
                taken[name].append(moments)
    return taken


def events(log: Path) -> Iterator[tuple[float, str]]:
    """The instants that Spark tells, with what had happened by then."""
    for line in log.read_text().splitlines():
        event = json.loads(line)
        known = _SPARK.get(event["Event"].rpartition(".")[2])
        if known is not None:
            yield event[known[0]], known[1]


def shares(taken: list[Moments], told: list[tuple[float, str]]) -> dict[str, float]:
    """Medians of the parts, in milliseconds."""
    parts: dict[str, list[float]] = {}
    for moments in taken:
        inside = {w: t for t, w in told if moments["sent"] <= t + 1 <= moments["done"] + 2}
        if len(inside) < len(_SPARK):
            continue
        steps = {
            "control": moments["sent"] - moments["started"],
            "analyse": inside["analysed"] - moments["sent"],
            "plan": inside["planned"] - inside["analysed"],
            "jobs": inside["computed"] - inside["planned"],
            "commit": inside["committed"] - inside["computed"],
            "publish": moments["ended"] - inside["committed"],
        }
        for part, ms in steps.items():
            parts.setdefault(part, []).append(max(ms, 0.0))
    return {part: round(statistics.median(values), 1) for part, values in parts.items()}


if __name__ == "__main__":
    raise SystemExit(main())
