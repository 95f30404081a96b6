"""Commands of the scheduler: `run`, `tick`, `jobs`, `workers`, `graph`, `health`."""

from __future__ import annotations

import signal
import threading
from contextlib import nullcontext
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.options import FormatOption, HubOption, OptionalName
from headwater.cli.output import Format
from headwater.cli.reach import Reach

if TYPE_CHECKING:
    from collections.abc import Callable

    from headwater.hub import Hub
    from headwater.observe.events import Event
    from headwater.scheduler.service import Scheduler

UNHEALTHY = 3
_SHOWN = 2
"""Units that run whose names are shown while the scheduler runs."""

_TICK = ("name", "refresh", "reason_code", "reason")
_JOBS = (
    "job_id",
    "unit_key",
    "unit_kind",
    "status",
    "member_count",
    "attempt_no",
    "enqueued_at",
    "duration_ms",
    "outcome_detail",
)
_WORKERS = (
    "hub",
    "workers_used",
    "workers_quota",
    "workers_queued",
    "cluster_active",
    "cluster_max",
)
_HEALTH = ("check_name", "severity", "detail")
_GRAPH = ("name", "source", "source_type", "columns_used")


class Drawing(StrEnum):
    """How `graph` shows the graph."""

    ROWS = "rows"
    MERMAID = "mermaid"
    DOT = "dot"
    UNITS = "units"


def run(ctx: typer.Context, hub: HubOption = None, form: FormatOption = None) -> None:
    """Run the scheduler in the foreground until it is told to stop.

    One line for each refresh, as JSON with --format json or the setting log_format; on a terminal
    the last line shows what runs and waits. SIGTERM and Ctrl-C stop it: refreshes that run are
    waited for, as long as the setting drain_timeout says. Several schedulers may run for one hub:
    one leads, the others take over when it dies.

    Example:
      headwater run
      headwater run --format json
    """
    from headwater.observe.logs import configured

    reach = Reach.of(ctx, hub, form)
    with reach.existing() as connection:
        lines = str(connection.settings()["log_format"].value)
        if reach.out.format is Format.JSON:
            lines = "json"
        silent = nullcontext(lambda _: None)  # lines for programs, also on a terminal
        with silent if lines == "json" else reach.out.progress("Starting …") as tell:
            lost = _run(connection, configured(lines), tell)
    if lost:
        reach.out.note("the scheduler ended by itself; the lines above tell why")
        raise typer.Exit(1)


def _run(connection: Hub, log: Any, tell: Callable[[str], None]) -> bool:
    """Run the scheduler until it is told to stop; whether it ended by itself."""
    from headwater.operations import scheduler_of

    scheduler, stop = scheduler_of(connection), threading.Event()
    end = connection.subscribe(lambda event: _log(log, event))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    connection.start()
    log.info("scheduler_started", hub=connection.name)
    while not stop.wait(0.5) and scheduler.daemon.is_running:
        tell(_doing(scheduler))
    lost = not stop.is_set()
    log.info("scheduler_stopping")
    tell("Waiting for what runs …")
    ended = connection.stop(drain=True)
    end()
    log.info("scheduler_stopped", drained=ended)
    return lost


def _doing(scheduler: Scheduler) -> str:
    """What a scheduler does now, in one line."""
    if not scheduler.daemon.leads:
        return "Another scheduler leads …"
    coordinator = scheduler.coordinator
    queue = coordinator.dispatcher.queue
    running, waiting = list(queue.running.values()), len(queue.queued)
    if not running and not waiting:
        tables = coordinator.metrics.value("headwater_stream_tables") or 0
        return f"Watching {tables:.0f} stream tables …"
    shown = ", ".join(str(entry.run.members[0]) for entry in running[:_SHOWN])
    return f"{len(running)} run, {waiting} wait: {shown} …"


def tick(
    ctx: typer.Context,
    every: Annotated[
        bool, typer.Option("--all", help="Show also the stream tables that were not due.")
    ] = False,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Run one round of the scheduler, until its refreshes are done.

    One line for each stream table that was due tells why. The exit code is 1 when one failed.

    Example:
      headwater tick
      headwater tick --all
    """
    reach = Reach.of(ctx, hub, form)
    with reach.existing() as connection, reach.out.progress("Looking for changes …") as tell:
        end = connection.subscribe(
            lambda event: None if event.table == "*" else tell(f"Refreshing {event.table} …")
        )
        report = connection.tick()
        end()
    rows = [c for c in report.choices if every or c.refresh or c.reason_code == "UPSTREAM_FAILED"]
    reach.out.rows(rows, _TICK, empty="nothing was due")
    for name, error in report.errors.items():
        reach.out.note(f"{name}: {error}")
    if report.errors:
        raise typer.Exit(1)


def jobs(
    ctx: typer.Context,
    age: Annotated[
        int, typer.Option("--age", min=0, help="Show jobs that ended in the last seconds.")
    ] = 300,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Show the jobs that wait, run, or ended lately.

    Example:
      headwater jobs --age 3600
    """
    reach = Reach.of(ctx, hub, form)
    with reach.existing() as connection:
        rows = connection.parallel_job_status(age)
    reach.out.rows(rows, _JOBS, empty="there are no jobs")


def workers(ctx: typer.Context, hub: HubOption = None, form: FormatOption = None) -> None:
    """Show how many workers each hub uses, may use and waits for.

    Example:
      headwater workers
    """
    reach = Reach.of(ctx, hub, form)
    with reach.existing() as connection:
        rows = connection.worker_allocation_status()
    reach.out.rows(rows, _WORKERS)


def health(ctx: typer.Context, hub: HubOption = None, form: FormatOption = None) -> None:
    """Check the health of the hub.

    The exit code is 3 when a check warns or fails.

    Example:
      headwater health --format json
    """
    reach = Reach.of(ctx, hub, form)
    with reach.existing() as connection:
        rows = connection.health_check()
    reach.out.rows(rows, _HEALTH)
    if any(row.severity != "OK" for row in rows):
        raise typer.Exit(UNHEALTHY)


def graph(
    ctx: typer.Context,
    name: OptionalName = None,
    drawing: Annotated[
        Drawing, typer.Option("--as", help="Rows, a Mermaid or DOT drawing, or the units.")
    ] = Drawing.ROWS,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Show what reads what, and what is refreshed as a whole.

    Example:
      headwater graph
      headwater graph --as mermaid
    """
    from headwater.graph.drawing import dot, mermaid

    reach = Reach.of(ctx, hub, form)
    with reach.existing() as connection:
        if drawing is Drawing.UNITS:
            found = connection.units()
            reach.out.rows(found, ("kind", "members", "key"), empty="there are no stream tables")
            return
        rows = connection.dependencies(name)
    if drawing is Drawing.ROWS:
        reach.out.rows(rows, _GRAPH, empty="there are no stream tables")
        return
    arrows = [(row.source, row.name) for row in rows]
    text = mermaid(arrows) if drawing is Drawing.MERMAID else dot(arrows)
    reach.out.document(text, {"drawing": text})


def _log(log: Any, event: Event) -> None:
    from headwater.observe.logs import line

    told = line(event)
    if told is not None:
        log.info(told[0], **told[1])
