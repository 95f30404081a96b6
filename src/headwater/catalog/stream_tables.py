"""Stream tables in the catalog: added, read, changed and removed, with what they read."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from sqlalchemy import Connection, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from headwater.catalog import tables
from headwater.catalog.codec import dump
from headwater.catalog.generation import bump
from headwater.catalog.rows import (
    Dependency,
    NewStreamTable,
    SourceType,
    StreamTableRow,
    read_dependency,
    read_stream_table,
)
from headwater.core.errors import (
    CatalogDamaged,
    HasDependents,
    RefreshConflict,
    StreamTableExists,
    StreamTableNotFound,
)
from headwater.core.names import TableName
from headwater.core.spelling import nearest_table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from headwater.catalog.database import Database
    from headwater.core.frontier import Frontier
    from headwater.core.spec import Action, RefreshMode, Status, Tier

_T = tables.stream_tables
_D = tables.dependencies
_SELECT = select(_T)
_BY_NAME = _SELECT.where(
    _T.c.hub == bindparam("of_hub"),
    _T.c.namespace == bindparam("in_namespace"),
    _T.c.name == bindparam("called"),
)
_LOCKED_BY_NAME = _BY_NAME.with_for_update()
_FEW = 1000
"""So many rows are asked for by number in one statement."""

# What a refresh compiles from: a change makes older templates and running refreshes stale.
_DEFINITION = {
    "query",
    "definition_hash",
    "layout",
    "columns",
    "definition",
    "unique_key",
    "partition_by",
    "append_only",
}
# What the scheduler plans from: a change is DDL and moves the counter of the hub.
_DECLARATION = _DEFINITION | {
    "schedule",
    "refresh_mode",
    "status",
    "tier",
    "sla",
    "freshness_deadline_ms",
    "diamond_consistency",
    "diamond_schedule_policy",
    "comment",
    "tags",
    "sort_by",
    "incremental",
    "downstream_publication",
}
_DOCUMENTS = {"layout", "columns", "definition", "unique_key", "partition_by", "sort_by", "tags"}


class Changes(TypedDict, total=False):
    """The columns that `update` may change."""

    query: str
    definition_hash: str
    layout: Mapping[str, Any]
    columns: tuple[tuple[str, str], ...]
    definition: Mapping[str, Any]
    unique_key: tuple[str, ...]
    partition_by: tuple[str, ...]
    sort_by: tuple[str, ...]
    append_only: bool
    schedule: str
    refresh_mode: RefreshMode
    status: Status
    tier: Tier | None
    sla: str | None
    freshness_deadline_ms: int | None
    diamond_consistency: str
    diamond_schedule_policy: str
    comment: str | None
    tags: tuple[str, ...]
    incremental: bool
    downstream_publication: str | None
    is_populated: bool
    needs_reinit: bool
    reinit_reason: str | None
    consecutive_errors: int
    last_error_code: str | None
    last_error_message: str | None
    last_error_at: datetime | None
    data_timestamp: datetime | None
    last_refresh_at: datetime | None
    last_action: Action | None
    last_reason_code: str | None
    last_reason: str | None
    frontier: Frontier | None
    frontier_head: int | None
    version: int | None


class StreamTables:
    """The stream tables of one hub."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hub = database.hub

    def add(self, new: NewStreamTable) -> StreamTableRow:
        """Add a stream table.

        Raises:
            StreamTableExists: the name is taken.
        """
        name = new.spec.name
        with self._database.write() as connection:
            now = self._database.now(connection)
            bump(connection, self._hub, now)
            values = _initial_values(new) | {"hub": self._hub, "created_at": now, "updated_at": now}
            try:
                connection.execute(insert(_T).values(values))
            except IntegrityError:
                raise StreamTableExists(
                    f"stream table {name} exists already",
                    hint="choose another name, or say OR REPLACE or IF NOT EXISTS",
                ) from None
            row = self._one(connection, name)
            self._link(connection, row.id, new.dependencies)
        return row

    def get(self, name: TableName) -> StreamTableRow:
        """One stream table.

        Raises:
            StreamTableNotFound: there is none; the hint names the nearest.
        """
        with self._database.read() as connection:
            return self._one(connection, name)

    def find(self, name: TableName) -> StreamTableRow | None:
        """One stream table, or None."""
        with self._database.read() as connection:
            return self._maybe(connection, name)

    def all(self) -> tuple[StreamTableRow, ...]:
        """All stream tables, by name."""
        query = _SELECT.where(_T.c.hub == self._hub).order_by(_T.c.namespace, _T.c.name)
        with self._database.read() as connection:
            return tuple(read_stream_table(row) for row in connection.execute(query))

    def readable(self, ids: Collection[int]) -> tuple[StreamTableRow, ...]:
        """Some stream tables; a row that is damaged is left out."""
        query = _SELECT.where(_T.c.hub == self._hub)
        if len(ids) <= _FEW:
            query = query.where(_T.c.id.in_(list(ids)))
        found = []
        with self._database.read() as connection:
            for row in connection.execute(query):
                with suppress(CatalogDamaged):
                    found.append(read_stream_table(row))
        return tuple(row for row in found if row.id in ids)

    def looked(self, ids: Collection[int], at: datetime) -> None:
        """Note that the schedules of some stream tables asked, and that there was nothing to do."""
        known = list(ids)
        with self._database.write() as connection:
            for start in range(0, len(known), _FEW):
                some = _T.c.id.in_(known[start : start + _FEW])
                chosen = update(_T).where(_T.c.hub == self._hub, some)
                connection.execute(chosen.values(last_refresh_at=at))

    def update(
        self,
        name: TableName,
        *,
        expect_generation: int | None = None,
        dependencies: Sequence[Dependency] | None = None,
        **changes: Unpack[Changes],
    ) -> StreamTableRow:
        """Change the columns that are passed, and the sources if they are passed.

        A new definition gets a new generation and loses its compiled templates.

        Raises:
            RefreshConflict: the definition is no longer of the expected generation.
        """
        redefined = bool(changes.keys() & _DEFINITION)
        with self._database.write() as connection:
            now = self._database.now(connection)
            if dependencies is not None or changes.keys() & _DECLARATION:
                bump(connection, self._hub, now)
            row = self._one(connection, name, lock=True)
            if expect_generation is not None and row.generation != expect_generation:
                raise RefreshConflict(
                    f"the definition of {name} was changed by somebody else",
                    hint="read the stream table again and repeat the change",
                )
            values = encoded(changes) | {"updated_at": now}
            if redefined:
                values["generation"] = row.generation + 1
                drop_templates(connection, row.id)
            connection.execute(update(_T).where(_T.c.id == row.id).values(values))
            if dependencies is not None:
                self._link(connection, row.id, dependencies)
            return self._one(connection, name)

    def remove(self, name: TableName, *, among: Collection[TableName] = ()) -> None:
        """Remove a stream table; its history stays.

        Args:
            name: the stream table.
            among: all that are removed with it; those of them that read it do not keep it.

        Raises:
            HasDependents: other stream tables read it; the message names them.
        """
        with self._database.write() as connection:
            bump(connection, self._hub, self._database.now(connection))
            row = self._one(connection, name, lock=True)
            arrows = self._arrows(connection)
            readers = [str(n) for n, d in arrows if d.source == name and n not in among]
            if readers:
                raise HasDependents(
                    f"{name} is read by {', '.join(sorted(readers))}",
                    hint="drop those first, or drop with cascade",
                )
            connection.execute(delete(_T).where(_T.c.id == row.id))

    def dependencies(
        self, name: TableName | None = None
    ) -> tuple[tuple[TableName, Dependency], ...]:
        """Stream table and source, for one or for all stream tables."""
        with self._database.read() as connection:
            if name is not None:
                self._one(connection, name)
            return tuple(a for a in self._arrows(connection) if name is None or a[0] == name)

    def _maybe(
        self, connection: Connection, name: TableName, *, lock: bool = False
    ) -> StreamTableRow | None:
        this = {"of_hub": self._hub, "in_namespace": name.namespace, "called": name.name}
        row = connection.execute(_LOCKED_BY_NAME if lock else _BY_NAME, this).one_or_none()
        return None if row is None else read_stream_table(row)

    def _one(
        self, connection: Connection, name: TableName, *, lock: bool = False
    ) -> StreamTableRow:
        row = self._maybe(connection, name, lock=lock)
        if row is not None:
            return row
        names = connection.execute(select(_T.c.namespace, _T.c.name).where(_T.c.hub == self._hub))
        guess = nearest_table(name, [TableName(n.namespace, n.name) for n in names])
        raise StreamTableNotFound(
            f"no stream table {name}",
            hint=f"did you mean {guess}?" if guess else "list the stream tables there are",
        )

    def _arrows(self, connection: Connection) -> list[tuple[TableName, Dependency]]:
        query = (
            select(_T.c.namespace, _T.c.name, _D)
            .join(_T, _T.c.id == _D.c.stream_table_id)
            .where(_D.c.hub == self._hub)
            .order_by(_T.c.namespace, _T.c.name, _D.c.source_namespace, _D.c.source_name)
        )
        return [read_dependency(row) for row in connection.execute(query)]

    def _link(self, connection: Connection, row_id: int, sources: Sequence[Dependency]) -> None:
        connection.execute(delete(_D).where(_D.c.stream_table_id == row_id))
        if sources:
            connection.execute(insert(_D), [_arrow_values(self._hub, row_id, d) for d in sources])


def drop_templates(connection: Connection, stream_table_id: int) -> None:
    """Forget the compiled templates of a stream table."""
    t = tables.templates
    connection.execute(delete(t).where(t.c.stream_table_id == stream_table_id))


def encoded(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Column values as the database keeps them."""
    values = dict(changes)
    for column in values.keys() & _DOCUMENTS:
        values[column] = dump(values[column])
    if values.get("frontier") is not None:
        values["frontier"] = values["frontier"].to_json()
    return values


def _arrow_values(hub: str, row_id: int, dependency: Dependency) -> dict[str, Any]:
    return {
        "hub": hub,
        "stream_table_id": row_id,
        "source_namespace": dependency.source.namespace,
        "source_name": dependency.source.name,
        "source_type": SourceType(dependency.source_type),
        "columns_used": dump(dependency.columns_used),
    }


def _initial_values(new: NewStreamTable) -> dict[str, Any]:
    spec = new.spec
    return encoded(
        {
            "namespace": spec.name.namespace,
            "name": spec.name.name,
            "query": spec.query,
            "definition_hash": new.definition_hash,
            "generation": 1,
            "schedule": spec.schedule,
            "refresh_mode": spec.refresh_mode,
            "status": new.status,
            "tier": spec.tier,
            "sla": spec.sla,
            "freshness_deadline_ms": new.freshness_deadline_ms,
            "unique_key": spec.unique_key,
            "partition_by": spec.partition_by,
            "sort_by": spec.sort_by,
            "append_only": spec.append_only,
            "diamond_consistency": spec.diamond_consistency,
            "diamond_schedule_policy": spec.diamond_schedule_policy,
            "comment": spec.comment,
            "tags": spec.tags,
            "incremental": new.incremental,
            "is_populated": False,
            "needs_reinit": False,
            "consecutive_errors": 0,
            "layout": new.layout,
            "columns": new.columns,
            "definition": new.definition,
        }
    )
