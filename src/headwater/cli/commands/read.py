"""Commands that only read the catalog: `list`, `status`, `history`, `explain`, `settings`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.options import FileOption, FormatOption, HubOption, OptionalName
from headwater.cli.reach import Reach
from headwater.cli.texts import read_script
from headwater.core.errors import HeadwaterError, UnknownSetting
from headwater.core.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headwater.core.results import StatusRow

UNHEALTHY = 3

_LIST = ("name", "status", "refresh_mode", "schedule", "tier", "incremental", "tags", "comment")
_STATUS = (
    "name",
    "status",
    "last_action",
    "last_reason_code",
    "last_refresh_at",
    "data_timestamp",
    "consecutive_errors",
    "decision_code",
    "last_error",
)
_HISTORY = (
    "started_at",
    "name",
    "status",
    "action",
    "reason_code",
    "rows_inserted",
    "rows_deleted",
    "delta_rows",
    "duration_ms",
    "error_code",
    "run_id",
)
_SETTINGS = ("name", "value", "source", "description")
_NO_TABLES = "there are no stream tables; `headwater create` makes one"


class What(StrEnum):
    """What `explain` tells."""

    PLAN = "plan"
    DELTA = "delta"
    SQL = "sql"
    COST = "cost"
    REFRESH = "refresh"


def list_(ctx: typer.Context, hub: HubOption = None, form: FormatOption = None) -> None:
    """List the stream tables of the hub.

    Example:
      headwater list
      headwater list --format json
    """
    reach = Reach.of(ctx, hub, form)
    with reach.existing() as connection:
        rows = connection.status()
    reach.out.rows(rows, _LIST, empty=_NO_TABLES)


def status(
    ctx: typer.Context, name: OptionalName = None, hub: HubOption = None, form: FormatOption = None
) -> None:
    """Show how fresh and healthy stream tables are.

    The exit code is 3 when one of them is suspended, failed or has to be built again, or when it
    is stale: a change waits for it longer than its schedule or SLA allow.

    Example:
      headwater status
      headwater status totals
    """
    reach = Reach.of(ctx, hub, form)
    with reach.existing() as connection:
        rows = connection.status(name)
        stale = set(connection.stale_tables()) & {row.name for row in rows}
    if name is not None and len(rows) == 1:
        reach.out.details(rows[0])
    else:
        reach.out.rows(rows, _STATUS, empty=_NO_TABLES)
    for late in sorted(stale):
        reach.out.note(f"{late} is stale: a change waits longer than its schedule or SLA allow")
    if stale or not _all_healthy(rows):
        raise typer.Exit(UNHEALTHY)


def history(
    ctx: typer.Context,
    name: OptionalName = None,
    limit: Annotated[int, typer.Option(min=1, help="How many refreshes, newest first.")] = 20,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Show past refreshes: what, why, rows and time.

    Example:
      headwater history totals --limit 5
    """
    reach = Reach.of(ctx, hub, form)
    with reach.existing() as connection:
        rows = connection.history(name, limit=limit)
    reach.out.rows(rows, _HISTORY, empty="there are no refreshes yet")


def explain(
    ctx: typer.Context,
    subject: Annotated[
        str | None,
        typer.Argument(metavar="NAME_OR_QUERY", help="A stream table, or a query."),
    ] = None,
    what: Annotated[
        What,
        typer.Option("--what", "-w", help="The plan, the delta, the SQL, the cost, or the choice."),
    ] = What.PLAN,
    file: FileOption = None,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Explain how a stream table or a query is kept fresh.

    `plan` tells the strategy of each node, `delta` and `sql` the statements, `cost` the estimate,
    `refresh` what the next refresh would do and why.

    Example:
      headwater explain totals --what delta
      headwater explain "SELECT region, count(*) FROM orders GROUP BY region"
    """
    from headwater.sql.statements import parse_statement, query_of, shift

    reach = Reach.of(ctx, hub, form)
    text = read_script(subject, file, what="a stream table or a query").text.strip()
    text = text.removesuffix(";")
    statement = parse_statement(text)
    query = query_of(statement) if statement is not None else None
    with reach.existing() as connection:
        try:
            explanation = connection.explain(query.text if query else text, what=what.value)
        except HeadwaterError as error:
            raise shift(error, statement) if statement is not None else error from None
    reach.out.document(str(explanation), explanation.to_dict())


def settings(
    ctx: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One setting; all without it.")
    ] = None,
    value: Annotated[
        str | None, typer.Argument(metavar="VALUE", help="Store this value in the catalog.")
    ] = None,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Show the settings, or store one.

    Each value is shown with its origin. A stored value is seen by all processes that use the hub.

    Example:
      headwater settings
      headwater settings max_parallel_workers 4
    """
    from headwater.settings import OLDER_NAMES

    reach = Reach.of(ctx, hub, form)
    with reach.existing() as connection:
        if name is not None and value is not None:
            connection.set(name, value)
        known = connection.settings()
    name = name if name is None else OLDER_NAMES.get(name, name)
    if name is not None and name not in known:
        guess = nearest(name, known)
        hint = f"did you mean {guess}?" if guess else "`headwater settings` lists them"
        raise UnknownSetting(f"there is no setting {name!r}", hint=hint)
    rows = [
        {
            "name": key,
            "value": shown.value,
            "source": shown.source,
            "description": shown.description,
        }
        for key, shown in known.items()
        if name is None or key == name
    ]
    reach.out.rows(rows, _SETTINGS)


def _all_healthy(rows: Iterable[StatusRow]) -> bool:
    return not any(
        row.status in ("ERROR", "SUSPENDED") or row.needs_reinit or row.consecutive_errors
        for row in rows
    )
