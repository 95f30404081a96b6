"""Does a refresh take longer because the tables have grown? The same change at base × 1, × 4, × 16.

    python -m bench.growth [--rows N] [--rounds N]

Sources and stream tables are sorted by key; each round appends 100 rows to one kind of source and
updates 100 neighbouring rows of the other. Mark: the refresh at × 16 takes ≤ 1.5 × that at × 1, for
the append-only shape and for the keyed ones.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable
from typing import Any

import headwater
from bench import command
from bench.measure import in_turn, median

MARK = 1.5
SIZES = (1, 4, 16)
ROWS_IN_A_FILE = 62_500
SHAPES = {
    "append": ("grows", "SELECT id, g, x + 1 AS y FROM {s} WHERE x >= 0", ()),
    "groups": (
        "moves",
        "SELECT id DIV 100 AS g, SUM(x) AS s, COUNT(*) AS n FROM {s} GROUP BY 1",
        (),
    ),
    "keyed": ("moves", "SELECT id, g, x FROM {s}", ("id",)),
}


def run(hub: headwater.Hub, arguments: argparse.Namespace) -> dict[str, Any]:
    for size in SIZES:
        rows = arguments.rows * size
        for kind in ("grows", "moves"):
            sorted_source(hub, f"{kind}_{size}", rows)
        for shape, (kind, query, key) in SHAPES.items():
            hub.create_stream_table(
                f"{shape}_{size}",
                query.format(s=f"{kind}_{size}"),
                unique_key=list(key) or None,
                refresh_mode="INCREMENTAL STRICT",
            )
    hub.maintain()
    ids = itertools.count(10**9, 100)
    places = itertools.count(1)

    def change() -> None:
        start, place = next(ids), 7919 * 100 * next(places)
        for size in SIZES:
            hub.sql(
                f"INSERT INTO grows_{size} SELECT id, id % 1000, id "
                f"FROM range({start}, {start + 100}, 1, 1)"
            )
            low = place % (arguments.rows * size - 100)
            hub.sql(f"UPDATE moves_{size} SET x = x + 1 WHERE id BETWEEN {low} AND {low + 99}")

    def refresh(name: str) -> Callable[[], object]:
        return lambda: hub.refresh_stream_table(name)

    names = [f"{shape}_{size}" for shape in SHAPES for size in SIZES]
    times = in_turn(
        {"change": change, **{name: refresh(name) for name in names}},
        rounds=arguments.rounds,
        warm=arguments.warm,
    )
    for name in names:
        assert hub.verify(name).equal, name
    medians = {name: round(median(times[name]), 1) for name in names}
    ratios = {s: round(medians[f"{s}_{SIZES[-1]}"] / medians[f"{s}_1"], 3) for s in SHAPES}
    for shape, ratio in ratios.items():
        told = ", ".join(f"x {n}: {medians[f'{shape}_{n}']:.0f} ms" for n in SIZES)
        print(f"{shape:<7} {told}; {ratio:.2f} x (mark {MARK} x)")
    return {
        "rows": arguments.rows,
        "medians_ms": medians,
        "ratios": ratios,
        "mark": MARK,
        "passed": all(ratio <= MARK for ratio in ratios.values()),
    }


def sorted_source(hub: headwater.Hub, name: str, rows: int) -> None:
    """A source of neighbouring ids in files of equal size."""
    files = max(1, rows // ROWS_IN_A_FILE)
    hub.sql(
        f"CREATE TABLE {name} USING iceberg {command.OWN_METADATA} AS "
        f"SELECT id, id % 1000 AS g, id * 3 AS x FROM range(0, {rows}, 1, {files})"
    )


if __name__ == "__main__":
    sys.exit(command.main("growth", __doc__, run, rows=250_000, rounds=9, warm=4))
