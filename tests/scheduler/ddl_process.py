"""A process that creates, alters and drops stream tables in the catalog as fast as it can.

Usage: ddl_process.py FOLDER NUMBER SECONDS
"""

from __future__ import annotations

import random
import sys
import time

import headwater
from headwater.catalog.rows import Dependency, NewStreamTable, SourceType
from headwater.core.errors import HeadwaterError
from headwater.core.names import TableName
from headwater.core.spec import StreamTableSpec, Tier


def main() -> None:
    folder, number, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    rng, done = random.Random(number), 0
    with headwater.connect(folder) as hub:
        tables = hub._runtime.store.tables
        assert tables.all()
        until = time.monotonic() + seconds  # from when it is ready, however long that takes
        mine: list[TableName] = []
        while time.monotonic() < until:
            try:
                if len(mine) < 5 or rng.random() < 0.4:
                    name = TableName("default", f"p{number}_{done}")
                    tables.add(new(name, rng.sample([*mine, TableName("default", "source0")], 1)))
                    mine.append(name)
                elif rng.random() < 0.5:
                    tables.update(rng.choice(mine), tier=rng.choice(list(Tier)))
                else:
                    gone = rng.choice(mine)
                    tables.remove(gone)
                    mine.remove(gone)
            except HeadwaterError:
                continue  # somebody reads it
            done += 1
    print(done)


def new(name: TableName, sources: list[TableName]) -> NewStreamTable:
    return NewStreamTable(
        spec=StreamTableSpec(name, "SELECT 1"),
        definition_hash="x",
        columns=(),
        dependencies=tuple(Dependency(s, SourceType.TABLE) for s in sources),
        definition={"sources": [str(s) for s in sources], "uses_clock": False},
    )


if __name__ == "__main__":
    main()
