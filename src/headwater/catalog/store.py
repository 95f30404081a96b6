"""The catalog of one hub: the one thing that the packages above open.

Opening is free: the database is touched, and migrated if it must be, at the first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.catalog import generation, hubs, schema, tables
from headwater.catalog.batches import Batches
from headwater.catalog.costs import Costs
from headwater.catalog.database import BUSY_SECONDS, Database
from headwater.catalog.gates import Gates, Groups
from headwater.catalog.history import History
from headwater.catalog.idle import Idle, record_idle
from headwater.catalog.intents import PublishIntents
from headwater.catalog.jobs import Jobs
from headwater.catalog.leases import Leases
from headwater.catalog.outlines import Outlines
from headwater.catalog.past_runs import PastRuns
from headwater.catalog.rows import shown_dependency
from headwater.catalog.schedule_states import ScheduleStates
from headwater.catalog.settings_store import StoredSettings
from headwater.catalog.stream_tables import StreamTables
from headwater.catalog.templates import Templates
from headwater.catalog.ticks import Ticks
from headwater.version import __version__

if TYPE_CHECKING:
    from datetime import datetime
    from types import TracebackType

    from headwater.catalog.rows import StreamTableRow
    from headwater.core.names import TableName
    from headwater.core.results import DependencyRow, HistoryRow, StatusRow

DEFAULT_HUB = "default"


class Store:
    """What a hub remembers, by subject.

    Attributes:
        tables: stream tables and what they read.
        history: the runs.
        leases: who may do what now.
        settings: what `hub.set` stored.
        templates: compiled templates.
        jobs: the queue of the workers.
        costs: what refreshes took.
        batches: writes that belong together and are not all there yet.
        intents: groups that must appear together.
        past: sums over the history.
        outlines: stream tables as the scheduler sees them.
        schedule: what the scheduler remembers of each.
        gates: sources whose readers wait.
        groups: declared refresh groups.
        ticks: what ticks pinned.
    """

    def __init__(
        self, url: str, *, hub: str = DEFAULT_HUB, busy_seconds: float = BUSY_SECONDS
    ) -> None:
        self.hub = hub
        self.database = Database(url, hub=hub, busy_seconds=busy_seconds)
        self.tables = StreamTables(self.database)
        self.history = History(self.database)
        self.leases = Leases(self.database)
        self.settings = StoredSettings(self.database)
        self.templates = Templates(self.database)
        self.jobs = Jobs(self.database)
        self.costs = Costs(self.database)
        self.batches = Batches(self.database)
        self.intents = PublishIntents(self.database, self.leases)
        self.past = PastRuns(self.database)
        self.outlines = Outlines(self.database)
        self.schedule = ScheduleStates(self.database)
        self.gates = Gates(self.database)
        self.groups = Groups(self.database)
        self.ticks = Ticks(self.database)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def record_idle(self, row: StreamTableRow, idle: Idle, *, now: datetime | None = None) -> str:
        """Record a refresh that found nothing to do; returns the id of the run it counts in."""
        return record_idle(self.database, row, idle, now)

    def close(self) -> None:
        """Close every connection; the next use opens them again."""
        self.database.close()

    def now(self) -> datetime:
        """The clock that the times in the catalog are of."""
        with self.database.read() as connection:
            return self.database.now(connection)

    def generation(self) -> int:
        """The counter that every DDL of the hub moves."""
        with self.database.read() as connection:
            return generation.current(connection, self.hub)

    def hubs(self) -> tuple[str, ...]:
        """The hubs that share this database."""
        with self.database.read() as connection:
            return hubs.names(connection)

    def versions(self) -> schema.Versions:
        """What package and catalog say about themselves."""
        with self.database.read() as connection:
            return schema.Versions(
                package=__version__,
                catalog=hubs.stamped_version(connection, self.hub) or "",
                schema=schema.stored_revision(connection) or "",
                head=tables.HEAD,
            )

    def status_rows(self, name: TableName | None = None) -> tuple[StatusRow, ...]:
        """Stream tables as `status` shows them."""
        rows = self.tables.all() if name is None else (self.tables.get(name),)
        decided = self.schedule.all()
        return tuple(row.shown(decided.get(row.id)) for row in rows)

    def history_rows(
        self, name: TableName | None = None, limit: int = 100
    ) -> tuple[HistoryRow, ...]:
        """Runs as `history` shows them, the newest first."""
        return tuple(run.shown() for run in self.history.runs(name, limit=limit))

    def dependency_rows(self, name: TableName | None = None) -> tuple[DependencyRow, ...]:
        """Arrows of the graph as `dependencies` shows them."""
        return tuple(shown_dependency(*arrow) for arrow in self.tables.dependencies(name))
