"""The history of refreshes: begun, finished, failed, or idle and folded into one row."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from headwater.catalog import tables
from headwater.catalog.codec import Raw, dump
from headwater.catalog.costs import add_cost
from headwater.catalog.generation import bump
from headwater.catalog.processes import ProcessIdentity
from headwater.catalog.rows import InitiatedBy, RunRow, RunStatus, StreamTableRow, read_run
from headwater.catalog.stream_tables import encoded
from headwater.core.errors import HeadwaterError, RunInterrupted
from headwater.core.ids import ENTROPY_BYTES, run_id
from headwater.core.spec import Action, ApplyKind, Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta

    from headwater.catalog.costs import Cost
    from headwater.catalog.database import Database
    from headwater.core.frontier import Frontier
    from headwater.core.names import TableName

_H = tables.history
_T = tables.stream_tables

# What every refresh says to the catalog is built once: building it takes longer than running it.
_ADD = insert(_H)
_RUNNING = select(_H).where(
    _H.c.hub == bindparam("of_hub"),
    _H.c.name == bindparam("called"),
    _H.c.status == RunStatus.RUNNING,
)
_END = update(_H).where(_H.c.hub == bindparam("of_hub"), _H.c.run_id == bindparam("this_run"))
_END_RUNNING = _END.where(_H.c.status == RunStatus.RUNNING)
_STATE = (
    select(_T.c.consecutive_errors, _T.c.status)
    .where(_T.c.id == bindparam("this_table"), _T.c.generation == bindparam("of_generation"))
    .with_for_update()
)
_UPDATE_TABLE = update(_T).where(_T.c.id == bindparam("this_table"))


@dataclass(frozen=True, slots=True)
class Run:
    """A refresh that has begun."""

    run_id: str
    stream_table_id: int
    generation: int
    started_at: datetime


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a refresh that ended well did.

    Attributes:
        frontier: what the content equals now.
        version: the version of the stream table for which the frontier holds.
        data_timestamp: the age of the content; None leaves the stored one.
        cost: what it took, for the cost model; None when that tells nothing.
    """

    action: Action
    reason_code: str
    reason: str
    frontier: Frontier | None
    version: int | None
    parent_version: int | None = None
    rows_inserted: int = 0
    rows_deleted: int = 0
    delta_rows: int = 0
    spark_jobs: int = 0
    apply: ApplyKind = ApplyKind.NONE
    strategy: Sequence[Mapping[str, str]] = ()
    data_timestamp: datetime | None = None
    cost: Cost | None = None


class History:
    """The runs of one hub."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._hub = database.hub

    def begin(
        self,
        row: StreamTableRow,
        *,
        initiated_by: InitiatedBy = InitiatedBy.MANUAL,
        tick: int | None = None,
        now: datetime | None = None,
    ) -> Run:
        """Note that a refresh of this definition starts in this process."""
        with self._database.write() as connection:
            started = now or self._database.now(connection)
            run = Run(run_id(started, os.urandom(ENTROPY_BYTES)), row.id, row.generation, started)
            values = new_run(self._hub, row, run.run_id, initiated_by, started, tick)
            connection.execute(_ADD, values | {"status": RunStatus.RUNNING})
        return run

    def finish(self, run: Run, outcome: Outcome, *, now: datetime | None = None) -> bool:
        """Note what a refresh did, and the new state of its stream table.

        Returns:
            False when the stream table has another definition by now, or is gone: its row then
            keeps what it says; the run is in the history all the same.
        """
        with self._database.write() as connection:
            ended = now or self._database.now(connection)
            self._end(connection, run, ended, RunStatus.COMPLETED, _ran(outcome))
            state = self._locked_state(connection, run)
            if state is None:
                return False
            values = _state(outcome, ended) | {"is_populated": True, "consecutive_errors": 0}
            if outcome.action in (Action.FULL, Action.REINITIALIZE):
                values |= {"needs_reinit": False, "reinit_reason": None}
            if state[1] is not Status.SUSPENDED:
                values["status"] = Status.ACTIVE
            self._update_table(connection, run, values, was=state[1], now=ended)
            if outcome.cost is not None:
                add_cost(connection, self._hub, run, outcome, ended)
            return True

    def skipped(self, skips: Sequence[tuple[StreamTableRow, str, str]]) -> None:
        """Note of several stream tables that they were not refreshed: row, reason code, reason."""
        with self._database.write() as connection:
            now = self._database.now(connection)
            runs, tables_ = [], []
            for row, code, reason in skips:
                told = {"action": Action.SKIPPED, "reason_code": code, "reason": reason}
                identifier = run_id(now, os.urandom(ENTROPY_BYTES))
                first = new_run(self._hub, row, identifier, InitiatedBy.SCHEDULER, now, None)
                ended = {"status": RunStatus.SKIPPED, "finished_at": now, "duration_ms": 0.0}
                runs.append(first | ended | told)
                this = {"this": row.id, "of": row.generation}
                tables_.append(this | {f"last_{key}": value for key, value in told.items()})
            connection.execute(insert(_H), runs)
            same = (_T.c.id == bindparam("this")) & (_T.c.generation == bindparam("of"))
            connection.execute(update(_T).where(same), tables_)

    def skip(self, run: Run, *, reason_code: str, reason: str, now: datetime | None = None) -> None:
        """Note that a refresh was not made, and why."""
        with self._database.write() as connection:
            ended = now or self._database.now(connection)
            told = {"action": Action.SKIPPED, "reason_code": reason_code, "reason": reason}
            self._end(connection, run, ended, RunStatus.SKIPPED, told)
            state = self._locked_state(connection, run)
            if state is not None:
                values = {f"last_{key}": value for key, value in told.items()}
                self._update_table(connection, run, values, was=state[1], now=ended)

    def fail(
        self,
        run: Run,
        error: HeadwaterError,
        *,
        max_consecutive_errors: int | None = None,
        counts: bool = True,
        now: datetime | None = None,
    ) -> Status | None:
        """Note that a refresh failed.

        Args:
            run: what `begin` returned.
            error: why it failed.
            max_consecutive_errors: suspend the stream table at so many failures in a row.
            counts: whether it is one of them; an attempt that is tried again is not.
            now: the time of the failure; None asks the database.

        Returns:
            The status the stream table has now; None when it is gone or defined anew.
        """
        with self._database.write() as connection:
            ended = now or self._database.now(connection)
            told = {"error_code": error.code, "error_message": str(error)}
            self._end(connection, run, ended, RunStatus.FAILED, told)
            state = self._locked_state(connection, run)
            if state is None:
                return None
            errors = state[0] + counts
            full = (
                counts and max_consecutive_errors is not None and errors >= max_consecutive_errors
            )
            status = state[1]
            if full:
                status = Status.SUSPENDED
            elif counts and not error.is_transient and status is not Status.SUSPENDED:
                status = Status.ERROR  # it is tried again all the same
            values: dict[str, Any] = {f"last_{key}": value for key, value in told.items()}
            values |= {"consecutive_errors": errors, "status": status, "last_error_at": ended}
            self._update_table(connection, run, values, was=state[1], now=ended)
            return status

    def runs(
        self,
        name: TableName | None = None,
        *,
        limit: int = 100,
        since: datetime | None = None,
        action: Action | None = None,
    ) -> tuple[RunRow, ...]:
        """The newest runs first, of one stream table or of all."""
        query = select(_H).where(_H.c.hub == self._hub).order_by(_H.c.seq.desc()).limit(limit)
        if name is not None:
            query = query.where(_H.c.name == str(name))
        if since is not None:
            query = query.where(_H.c.finished_at >= since)
        if action is not None:
            query = query.where(_H.c.action == action)
        with self._database.read() as connection:
            return tuple(read_run(row) for row in connection.execute(query))

    def running(self, name: TableName) -> tuple[RunRow, ...]:
        """The runs of one stream table that have begun and not ended, whoever runs them."""
        with self._database.read() as connection:
            found = connection.execute(_RUNNING, {"of_hub": self._hub, "called": str(name)})
            return tuple(read_run(row) for row in found)

    def reconcile(
        self,
        name: TableName | None = None,
        *,
        unseen_after: timedelta | None = None,
        lost: ProcessIdentity | None = None,
    ) -> tuple[RunRow, ...]:
        """Mark runs of dead processes as failed, of one stream table or of all; returns them.

        A process of another host cannot be seen: its runs are left alone unless they are older
        than `unseen_after`. One that was `lost` counts as dead.
        """
        running = select(_H).where(_H.c.hub == self._hub, _H.c.status == RunStatus.RUNNING)
        if name is not None:
            running = running.where(_H.c.name == str(name))
        with self._database.read() as connection:
            now = self._database.now(connection)
            found = [read_run(row) for row in connection.execute(running)]
        orphans = tuple(
            run for run in found if run.process == lost or _is_orphan(run, now, unseen_after)
        )
        if orphans:
            with self._database.write() as connection:
                for orphan in orphans:
                    self._interrupt(connection, orphan, now)
        return orphans

    def prune(self, before: datetime) -> int:
        """Delete runs that ended before an instant; returns how many."""
        old = delete(_H).where(_H.c.hub == self._hub, _H.c.finished_at < before)
        with self._database.write() as connection:
            return connection.execute(old).rowcount

    def _end(
        self,
        connection: Connection,
        run: Run,
        ended: datetime,
        status: RunStatus,
        values: Mapping[str, Any],
    ) -> None:
        """Note the end of a run; one that was given up stays failed, unless it did publish."""
        duration = max(0.0, (ended - run.started_at).total_seconds() * 1000)
        known = {"status": status, "finished_at": ended, "duration_ms": duration}
        end = _END if status is RunStatus.COMPLETED else _END_RUNNING
        this = {"of_hub": self._hub, "this_run": run.run_id}
        connection.execute(end, {**this, **known, **values})

    def _locked_state(self, connection: Connection, run: Run) -> tuple[int, Status] | None:
        """Errors in a row and status of the table of a run; None if gone or defined anew."""
        this = {"this_table": run.stream_table_id, "of_generation": run.generation}
        found = connection.execute(_STATE, this).one_or_none()
        if found is None:
            return None
        columns = ("run_id", "consecutive_errors", "status")
        raw = Raw("hw_stream_tables", columns, (run.run_id, *found), "run_id")
        return raw.integer("consecutive_errors"), raw.choice("status", Status)

    def _update_table(
        self,
        connection: Connection,
        run: Run,
        values: Mapping[str, Any],
        *,
        was: Status,
        now: datetime,
    ) -> None:
        connection.execute(_UPDATE_TABLE, {"this_table": run.stream_table_id, **values})
        if values.get("status", was) is not was:
            bump(connection, self._hub, now)

    def _interrupt(self, connection: Connection, orphan: RunRow, now: datetime) -> None:
        error = RunInterrupted(
            f"process {orphan.process.pid} on {orphan.process.host} was lost during the refresh",
            hint="refresh again: what it did not publish left no trace",
        )
        connection.execute(
            update(_H)
            .where(_H.c.seq == orphan.seq, _H.c.status == RunStatus.RUNNING)
            .values(
                status=RunStatus.FAILED,
                finished_at=now,
                error_code=error.code,
                error_message=str(error),
            )
        )


def new_run(
    hub: str,
    row: StreamTableRow,
    identifier: str,
    initiated_by: InitiatedBy,
    started: datetime,
    tick: int | None,
) -> dict[str, Any]:
    """The values every row of the history starts with."""
    process = ProcessIdentity.current()
    return {
        "hub": hub,
        "run_id": identifier,
        "stream_table_id": row.id,
        "name": str(row.name),
        "initiated_by": initiated_by,
        "started_at": started,
        "rows_inserted": 0,
        "rows_deleted": 0,
        "delta_rows": 0,
        "spark_jobs": 0,
        "repeats": 1,
        "tick": tick,
        "host": process.host,
        "pid": process.pid,
        "process_started": process.started,
    }


def _ran(outcome: Outcome) -> dict[str, Any]:
    return {
        "action": outcome.action,
        "reason_code": outcome.reason_code,
        "reason": outcome.reason,
        "rows_inserted": outcome.rows_inserted,
        "rows_deleted": outcome.rows_deleted,
        "delta_rows": outcome.delta_rows,
        "spark_jobs": outcome.spark_jobs,
        "apply": outcome.apply,
        "version": outcome.version,
        "parent_version": outcome.parent_version,
        "frontier": outcome.frontier.to_json() if outcome.frontier else None,
        "strategy": dump(list(outcome.strategy)),
    }


def _state(outcome: Outcome, ended: datetime) -> dict[str, Any]:
    values = {
        "last_refresh_at": ended,
        "last_action": outcome.action,
        "last_reason_code": outcome.reason_code,
        "last_reason": outcome.reason,
        "frontier": outcome.frontier,
        "frontier_head": outcome.version,
        "version": outcome.version,
    }
    if outcome.data_timestamp is not None:
        values["data_timestamp"] = outcome.data_timestamp
    return encoded(values)


def _is_orphan(run: RunRow, now: datetime, unseen_after: timedelta | None) -> bool:
    alive = run.process.is_alive()
    if alive is None:
        return unseen_after is not None and now - run.started_at > unseen_after
    return not alive
