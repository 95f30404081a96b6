"""Commands that change what stream tables there are: `create`, `alter`, `drop`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.options import (
    AppendOnlyOption,
    CommentOption,
    FileOption,
    FormatOption,
    HubOption,
    ModeOption,
    NameArgument,
    PartitionOption,
    ScheduleOption,
    SlaOption,
    SortOption,
    TagOption,
    TierOption,
    UniqueKeyOption,
)
from headwater.cli.reach import Reach
from headwater.cli.texts import Piece, Script, read_script
from headwater.cli.usage import WrongUsage
from headwater.core.errors import HeadwaterError, StreamTableNotFound

if TYPE_CHECKING:
    from headwater.hub import Hub
    from headwater.sql.statements import CreateStreamTable

_SHOWN = ("name", "status", "refresh_mode", "schedule", "incremental", "last_action")


def create(
    ctx: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The new stream table.")
    ] = None,
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="The query that defines it.")
    ] = None,
    file: FileOption = None,
    schedule: ScheduleOption = None,
    refresh_mode: ModeOption = None,
    sla: SlaOption = None,
    tier: TierOption = None,
    unique_key: UniqueKeyOption = None,
    partition_by: PartitionOption = None,
    sort_by: SortOption = None,
    append_only: AppendOnlyOption = None,
    comment: CommentOption = None,
    tag: TagOption = None,
    no_data: Annotated[bool, typer.Option("--no-data", help="Do not fill it now.")] = False,
    or_replace: Annotated[
        bool, typer.Option("--or-replace", help="Replace a stream table of that name.")
    ] = False,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Do nothing when it is there already.")
    ] = False,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Create stream tables from a query or a file.

    A file may hold several CREATE STREAM TABLE statements. With NAME it holds the query alone.

    Example:
      headwater create totals "SELECT region, sum(price) AS sum FROM orders GROUP BY region"
      headwater create -f tables/totals.sql
    """
    reach = Reach.of(ctx, hub, form)
    given = _given(
        schedule=schedule,
        refresh_mode=refresh_mode,
        sla=sla,
        tier=tier,
        unique_key=unique_key,
        partition_by=partition_by,
        sort_by=sort_by,
        append_only=append_only,
        comment=comment,
        tags=tag,
        initialize=False if no_data else None,
        or_replace=or_replace or None,
        if_not_exists=if_not_exists or None,
    )
    if name is None:
        pieces = read_script(None, file, what="the statements").statements()
        if not pieces:
            raise WrongUsage("there is no statement in the text")
    else:
        pieces = [_one_piece(read_script(query, file, what="the query"))]
    with reach.made_if_missing() as connection:
        names = []
        for piece in pieces:
            with piece.located(), reach.out.progress("Creating …"):
                names.append(_create(connection, name, piece, given))
        rows = [row for made in names for row in connection.status(made)]
    reach.out.rows(rows, _SHOWN)


def alter(
    ctx: typer.Context,
    name: NameArgument,
    query: Annotated[
        str | None, typer.Option("--query", "-q", metavar="SQL", help="The new query.")
    ] = None,
    file: FileOption = None,
    schedule: ScheduleOption = None,
    refresh_mode: ModeOption = None,
    sla: SlaOption = None,
    tier: TierOption = None,
    unique_key: UniqueKeyOption = None,
    sort_by: SortOption = None,
    append_only: AppendOnlyOption = None,
    comment: CommentOption = None,
    tag: TagOption = None,
    suspend: Annotated[bool, typer.Option("--suspend", help="Stop refreshing it.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Refresh it again.")] = False,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Change a stream table; only what is given changes.

    Example:
      headwater alter totals --schedule 1m --tier hot
      headwater alter totals --suspend
    """
    if suspend and resume:
        raise WrongUsage("--suspend and --resume exclude each other")
    reach = Reach.of(ctx, hub, form)
    if query is not None or file is not None:
        query = read_script(query, file, what="the query").text.rstrip().removesuffix(";")
    given = _given(
        query=query,
        schedule=schedule,
        refresh_mode=refresh_mode,
        sla=sla,
        tier=tier,
        unique_key=unique_key,
        sort_by=sort_by,
        append_only=append_only,
        comment=comment,
        tags=tag,
        status="SUSPENDED" if suspend else None,
    )
    if not given and not resume:
        raise WrongUsage("nothing to change: give at least one option")
    with reach.existing() as connection:
        with reach.out.progress(f"Changing {name} …"):
            if given:
                connection.alter_stream_table(name, **given)
            if resume:
                connection.resume_stream_table(name)
        rows = connection.status(name)
    reach.out.rows(rows, _SHOWN)


def drop(
    ctx: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Stream tables.")],
    cascade: Annotated[
        bool, typer.Option("--cascade", help="Drop the stream tables that read it as well.")
    ] = False,
    if_exists: Annotated[
        bool, typer.Option("--if-exists", help="Pass over names that are not there.")
    ] = False,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Drop stream tables with their data.

    A stream table that others read is not dropped unless --cascade is given.

    Example:
      headwater drop totals
      headwater drop orders_clean --cascade
    """
    reach = Reach.of(ctx, hub, form)
    with reach.existing() as connection:
        for name in names:
            try:
                with reach.out.progress(f"Dropping {name} …"):
                    connection.drop_stream_table(name, cascade=cascade)
            except StreamTableNotFound:
                if not if_exists:
                    raise
                reach.out.note(f"{name} is not there")
            else:
                reach.out.note(f"dropped {name}")


def _given(**options: Any) -> dict[str, Any]:
    """What was written on the command line; lists become tuples."""
    return {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in options.items()
        if value is not None and value != []
    }


def _one_piece(script: Script) -> Piece:
    return Piece(script.text.rstrip().removesuffix(";"), 0, script)


def _create(hub: Hub, name: str | None, piece: Piece, given: dict[str, Any]) -> str:
    from headwater.sql.statements import CreateStreamTable, parse_statement, shift

    statement = parse_statement(piece.text)
    if isinstance(statement, CreateStreamTable):
        return _create_from(hub, statement, name, given, shift)
    if name is None or statement is not None:
        line = piece.lines_before + 1
        raise WrongUsage(
            f"{piece.script.origin}, line {line}: not a CREATE STREAM TABLE statement; "
            "`headwater sql -f` runs any statement"
        )
    hub.create_stream_table(name, piece.text, **given)
    return name


def _create_from(
    hub: Hub, statement: CreateStreamTable, name: str | None, given: dict[str, Any], shift: Any
) -> str:
    options = {
        "or_replace": statement.or_replace,
        "if_not_exists": statement.if_not_exists,
        **statement.options,
        **given,
    }
    target = name or str(statement.name)
    try:
        hub.create_stream_table(target, statement.query.text, **options)
    except HeadwaterError as error:
        raise shift(error, statement) from None
    return target
