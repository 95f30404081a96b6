"""Commands that work on the data of stream tables: `refresh`, `verify`."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.cli.options import FormatOption, HubOption
from headwater.cli.reach import Reach
from headwater.core.errors import RefreshFailed

_REFRESH = (
    "name",
    "action",
    "reason_code",
    "rows_inserted",
    "rows_deleted",
    "delta_rows",
    "duration_ms",
    "reason",
)
_VERIFY = ("name", "equal", "missing", "unexpected")


def refresh(
    ctx: typer.Context,
    selection: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SELECTION",
            help="name, +name (with what it reads), name+ (with its readers), tag:x, tier:hot, "
            "or * for all, which is the default.",
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Recompute everything.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail rather than recompute everything.")
    ] = False,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Refresh stream tables, upstream first.

    One line for each tells what was done and why, how many rows changed and how long it took. When
    one fails, its readers are skipped, the others are refreshed, and the exit code is 1.

    Example:
      headwater refresh totals
      headwater refresh +totals tag:nightly --strict
    """
    reach = Reach.of(ctx, hub, form)
    chosen = selection or ["*"]
    with reach.existing() as connection, reach.out.progress("Looking for changes …") as tell:
        stop = connection.subscribe(lambda event: tell(f"Refreshing {event.table} …"))
        try:
            results = connection.refresh(chosen, full=full, strict=strict or None)
        except RefreshFailed as error:
            reach.out.rows(error.results, _REFRESH)
            raise
        finally:
            stop()
    reach.out.rows(results, _REFRESH, empty="there is nothing to refresh")


def verify(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Stream tables; all without it."),
    ] = None,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Compare stream tables with their queries, row by row.

    Each query runs again at the versions the stream table was made from. The exit code is 1 when
    a stream table differs from its query.

    Example:
      headwater verify totals
    """
    reach = Reach.of(ctx, hub, form)
    reports = []
    with reach.existing() as connection:
        chosen = names or [row.name for row in connection.status() if row.is_populated]
        for name in chosen:
            with reach.out.progress(f"Verifying {name} …"):
                reports.append(connection.verify(name))
    reach.out.rows(reports, _VERIFY, empty="there is nothing to verify")
    for report in reports:
        for line in report.sample:
            reach.out.note(f"{report.name}: {line}")
    if not all(report.equal for report in reports):
        raise typer.Exit(1)
