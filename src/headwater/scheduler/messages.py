"""What a coordinator and its worker processes say to each other: one JSON document in a line.

The worker learns how to open the hub, then gets units to run one by one. It tells its events and
how each unit ended. Names and errors travel as text and are made into values at the other end.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

from headwater.core.errors import restored
from headwater.core.frontier import SourceVersion
from headwater.core.names import TableName
from headwater.core.results import RefreshResult
from headwater.core.spec import Tier
from headwater.graph.units import Unit, UnitKind
from headwater.observe.events import RefreshEvent, ScanEvent, StageEvent, WarningEvent
from headwater.scheduler.execute import UnitResult
from headwater.scheduler.tick_state import UnitRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headwater.catalog.jobs import Job
    from headwater.core.errors import HeadwaterError
    from headwater.observe.events import Event
    from headwater.storage.lake import Lake

_EVENTS: dict[str, type[Event]] = {
    kind.__name__: kind for kind in (RefreshEvent, ScanEvent, StageEvent, WarningEvent)
}


class Greeting(msgspec.Struct, tag="greeting"):
    """How a worker opens the hub; `project` and `call` are two of the layers of its settings."""

    catalog_url: str
    iceberg_url: str
    warehouse: str
    spark_conf: dict[str, str]
    catalog: str
    hub: str
    project: dict[str, Any]
    call: dict[str, Any]

    @classmethod
    def of(
        cls, lake: Lake, hub: str, project: Mapping[str, Any], call: Mapping[str, Any]
    ) -> Greeting:
        """The greeting for workers of a hub."""
        return cls(
            lake.catalog_url,
            lake.iceberg_url,
            lake.warehouse,
            dict(lake.spark_conf),
            lake.catalog,
            hub,
            dict(project),
            dict(call),
        )


class Task(msgspec.Struct, tag="task"):
    """A unit to run, as the job that the worker holds.

    Attributes:
        versions: source → table id, snapshot and schema that the tick pinned; None pins none.
        url: the Spark Connect server to use.
        has_jars: whether that server has all jars of Headwater.
    """

    job_id: int
    lease_token: int
    key: str
    kind: str
    unit: tuple[str, ...]
    members: tuple[str, ...]
    tier: str
    attempt: int
    versions: dict[str, tuple[str, int | None, int]] | None
    tick: int
    is_retried: bool
    label: str
    url: str
    has_jars: bool

    @classmethod
    def of(
        cls,
        job: Job,
        run: UnitRun,
        versions: Mapping[TableName, SourceVersion] | None,
        *,
        tick: int,
        is_retried: bool,
        label: str,
        url: str,
        has_jars: bool,
    ) -> Task:
        """A unit of a tick as a task."""
        packed = None
        if versions is not None:
            packed = {
                str(name): (v.table_id, v.snapshot_id, v.schema_id) for name, v in versions.items()
            }
        return cls(
            job.job_id,
            job.lease_token,
            run.unit.key,
            run.unit.kind.value,
            tuple(map(str, run.unit.members)),
            tuple(map(str, run.members)),
            run.tier.value,
            run.attempt,
            packed,
            tick,
            is_retried,
            label,
            url,
            has_jars,
        )

    def run(self) -> UnitRun:
        """The unit, as the coordinator has it."""
        unit = Unit(UnitKind(self.kind), tuple(map(TableName.parse, self.unit)), self.key)
        members = tuple(map(TableName.parse, self.members))
        return UnitRun(unit, members, Tier(self.tier), self.attempt)

    def pinned(self) -> dict[TableName, SourceVersion] | None:
        """The versions that the tick pinned."""
        if self.versions is None:
            return None
        return {TableName.parse(k): SourceVersion(*v) for k, v in self.versions.items()}


class Cancel(msgspec.Struct, tag="cancel"):
    """Stop what runs under a label."""

    label: str


class Ready(msgspec.Struct, tag="ready"):
    """The worker has opened the hub; `owner` is the name under which it holds jobs."""

    owner: str


class Failure(msgspec.Struct):
    """An error of Headwater."""

    code: str
    what: str
    hint: str

    @classmethod
    def of(cls, error: HeadwaterError) -> Failure:
        """An error as text."""
        return cls(error.code, error.what, error.hint)

    def error(self) -> HeadwaterError:
        """The error again."""
        return restored(self.code, self.what, self.hint)


class Broken(msgspec.Struct, tag="broken"):
    """The worker cannot work at all, and ends."""

    failure: Failure


class Told(msgspec.Struct, tag="told"):
    """An event in the worker."""

    kind: str
    fields: dict[str, Any]

    @classmethod
    def of(cls, event: Event) -> Told | None:
        """An event as text; None for those that only a coordinator has."""
        kind = type(event).__name__
        return cls(kind, asdict(event)) if kind in _EVENTS else None

    def event(self) -> Event:
        """The event again."""
        return _EVENTS[self.kind](**self.fields)


class Ended(msgspec.Struct, tag="ended"):
    """How a unit ended."""

    job_id: int
    results: tuple[dict[str, Any], ...]
    failed: str | None
    failure: Failure | None

    @classmethod
    def of(cls, job_id: int, result: UnitResult) -> Ended:
        """The end of a unit as text."""
        return cls(
            job_id,
            tuple(each.to_dict() for each in result.results),
            None if result.failed is None else str(result.failed),
            None if result.error is None else Failure.of(result.error),
        )

    def result(self) -> UnitResult:
        """The end of the unit again."""
        return UnitResult(
            tuple(RefreshResult(**{**r, "strategy": tuple(r["strategy"])}) for r in self.results),
            None if self.failed is None else TableName.parse(self.failed),
            None if self.failure is None else self.failure.error(),
        )


Order = Greeting | Task | Cancel
"""What a coordinator says."""

Answer = Ready | Broken | Told | Ended
"""What a worker says."""

_encoder = msgspec.json.Encoder()
_orders: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)
_answers: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


def encode(message: Order | Answer) -> bytes:
    """A message as one line."""
    return _encoder.encode(message) + b"\n"


def decode_order(line: bytes) -> Order:
    """What a coordinator wrote."""
    return _orders.decode(line)


def decode_answer(line: bytes) -> Answer:
    """What a worker wrote."""
    return _answers.decode(line)
