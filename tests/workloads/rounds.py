"""Changes of a workload's tables: each round inserts, deletes and updates rows of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from made_rows import Maker, Row

DELETED, UPDATED = 0.05, 0.08


@dataclass(frozen=True)
class TableRound:
    """What happens to one table."""

    inserted: list[Row]
    deleted: list[Row]
    updated: list[tuple[Row, Row]]

    def applied(self, rows: list[Row]) -> list[Row]:
        """The rows afterwards."""
        gone = {*self.deleted, *(old for old, _ in self.updated)}
        return [r for r in rows if r not in gone] + self.inserted + [new for _, new in self.updated]


def next_round(maker: Maker, rows: Mapping[str, list[Row]]) -> dict[str, TableRound]:
    """Changes of every table that has rows, of few rows in a large one and of one in a tiny one."""
    return {
        table: _table_round(maker, table, rows[table])
        for table in maker.keys.primary
        if rows.get(table)
    }


def _table_round(maker: Maker, table: str, rows: list[Row]) -> TableRound:
    rng, queries = maker.random, maker.readers(table)
    deletes = round(len(rows) * DELETED) or (len(rows) > 3)
    updates = round(len(rows) * UPDATED) or 1
    touched = rng.sample(rows, deletes + updates)
    # A large table gets a row for each query, a small one for some.
    served = (
        queries
        if maker.keys.amounts.get(table, 0) > 10
        else rng.sample(queries, len(queries) // 4 or 1)
    )
    inserted = [maker.row(table, query) for query in served]
    updated = [(row, maker.changed(table, row, rng.choice(queries))) for row in touched[deletes:]]
    return TableRound(inserted, touched[:deletes], [pair for pair in updated if pair[0] != pair[1]])
