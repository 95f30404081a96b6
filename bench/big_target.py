"""A small change of a big keyed stream table, against a bare append and against all of it again.

    python -m bench.big_target [--rows N] [--rounds N]

2 M rows with a key and without readers; each round updates 100 neighbouring keys. Maintenance runs
after the first rounds, as it would in use, and chooses how merges write from then on. Marks: the
refresh takes ≤ 5 × a bare one-row append with the settings and the file system that refreshes have,
and ≤ 0.2 × `INSERT OVERWRITE` of the same query. An append in the session of `hub.sql` is told too.
`python -m bench.maintenance` has the same table through 200 refreshes.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from typing import Any

import headwater
from bench import command
from bench.growth import sorted_source
from bench.measure import in_turn, median

MARKS = {"append": 5.0, "full": 0.2}
QUERY = "SELECT id, g, x FROM src"


def run(hub: headwater.Hub, arguments: argparse.Namespace) -> dict[str, Any]:
    sorted_source(hub, "src", arguments.rows)
    hub.sql("CREATE TABLE bare (id BIGINT, x STRING) USING iceberg")
    hub.sql(f"CREATE TABLE plain USING iceberg AS {QUERY} LIMIT 0")
    hub.create_stream_table("keyed", QUERY, unique_key=["id"], refresh_mode="INCREMENTAL STRICT")
    hub.maintain("keyed")
    places = itertools.count(1)

    def change() -> None:
        low = 7919 * 100 * next(places) % (arguments.rows - 100)
        hub.sql(f"UPDATE src SET x = x + 1 WHERE id BETWEEN {low} AND {low + 99}")

    def append() -> None:
        with command.same_settings(hub) as session:
            session.sql("INSERT INTO bare VALUES (1, 'a')")

    actions = {
        "change": change,
        "append": append,
        "usual_append": lambda: hub.sql("INSERT INTO bare VALUES (1, 'a')"),
        "refresh": lambda: hub.refresh_stream_table("keyed"),
        "full": lambda: hub.sql(f"INSERT OVERWRITE plain {QUERY}"),
    }
    in_turn(actions, rounds=0, warm=arguments.warm)
    (maintained,) = hub.maintain("keyed")
    print(f"maintenance: {maintained.reason or 'nothing to tell'}")
    times = in_turn(actions, rounds=arguments.rounds, warm=arguments.warm)
    assert hub.verify("keyed").equal
    medians = {name: round(median(found), 1) for name, found in times.items()}
    ratios = {
        name: round(medians["refresh"] / medians[name], 3) for name in (*MARKS, "usual_append")
    }
    print(
        f"refresh {medians['refresh']:.0f} ms = {ratios['append']:.2f} x a bare append (mark "
        f"{MARKS['append']}), {ratios['usual_append']:.2f} x one of hub.sql, "
        f"{ratios['full']:.2f} x all again (mark {MARKS['full']})"
    )
    return {
        "rows": arguments.rows,
        "maintenance": maintained.reason,
        "medians_ms": medians,
        "ratios": ratios,
        "marks": MARKS,
        "passed": all(ratios[name] <= mark for name, mark in MARKS.items()),
    }


if __name__ == "__main__":
    sys.exit(command.main("big_target", __doc__, run, rows=2_000_000, rounds=9, warm=4))
