"""Do wide rows cost more than the columns that change? 50 columns against 5.

    python -m bench.width [--rows N] [--rounds N]

Each round updates five columns of ten rows. Mark: the refresh of the wide stream table takes
≤ 1.3 × that of the narrow one.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from typing import Any

import headwater
from bench import command
from bench.measure import in_turn, median

MARK = 1.3
WIDTHS = {"narrow": 5, "wide": 50}


def run(hub: headwater.Hub, arguments: argparse.Namespace) -> dict[str, Any]:
    for name, width in WIDTHS.items():
        columns = ", ".join(f"id * {i} AS c{i}" for i in range(1, width + 1))
        hub.sql(
            f"CREATE TABLE src_{name} USING iceberg {command.OWN_METADATA} AS "
            f"SELECT id, {columns} FROM range(0, {arguments.rows}, 1, 1)"
        )
        hub.create_stream_table(
            name,
            f"SELECT * FROM src_{name}",
            unique_key=["id"],
            refresh_mode="INCREMENTAL STRICT",
        )
    places = itertools.count(1)

    def change() -> None:
        low = 7919 * next(places) % (arguments.rows - 10)
        sets = ", ".join(f"c{i} = c{i} + 1" for i in range(1, 6))
        for name in WIDTHS:
            hub.sql(f"UPDATE src_{name} SET {sets} WHERE id BETWEEN {low} AND {low + 9}")

    times = in_turn(
        {
            "change": change,
            "narrow": lambda: hub.refresh_stream_table("narrow"),
            "wide": lambda: hub.refresh_stream_table("wide"),
        },
        rounds=arguments.rounds,
        warm=arguments.warm,
    )
    assert all(hub.verify(name).equal for name in WIDTHS)
    medians = {name: round(median(times[name]), 1) for name in WIDTHS}
    ratio = round(medians["wide"] / medians["narrow"], 3)
    print(
        f"5 columns {medians['narrow']:.0f} ms, 50 columns {medians['wide']:.0f} ms: "
        f"{ratio:.2f} x (mark {MARK} x)"
    )
    return {
        "rows": arguments.rows,
        "medians_ms": medians,
        "ratio": ratio,
        "mark": MARK,
        "passed": ratio <= MARK,
    }


if __name__ == "__main__":
    sys.exit(command.main("width", __doc__, run, rows=10_000, rounds=15, warm=8))
