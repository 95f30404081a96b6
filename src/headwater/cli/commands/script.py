"""Commands that take SQL texts: `sql` runs them, `validate` judges them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.options import FileOption, FormatOption, HubOption
from headwater.cli.reach import Reach
from headwater.cli.texts import Piece, Script, read_file, read_script
from headwater.cli.usage import WrongUsage
from headwater.core.errors import HeadwaterError

if TYPE_CHECKING:
    from headwater.cli.output import Output
    from headwater.core.results import Verdict
    from headwater.hub import Hub

_OPTION = "query"
"""Where a text comes from that is a query whatever it looks like."""
_QUERY_WORDS = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE", "("})


def sql(
    ctx: typer.Context,
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="One or several statements; - reads stdin."),
    ] = None,
    file: FileOption = None,
    limit: Annotated[
        int, typer.Option(min=0, help="Rows shown of each result; 0 shows all.")
    ] = 1000,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Run SQL on the hub and print the rows.

    Both Spark SQL and the statements for stream tables work; a semicolon ends each of several.

    Example:
      headwater sql "REFRESH STREAM TABLE totals; SELECT * FROM totals ORDER BY 1"
      headwater sql -f setup.sql
    """
    reach = Reach.of(ctx, hub, form)
    pieces = read_script(text, file, what="the SQL").statements()
    if not pieces:
        raise WrongUsage("there is no statement in the text")
    with reach.made_if_missing() as connection:
        for piece in pieces:
            with piece.located(), reach.out.progress("Running SQL …"):
                columns, rows, more = _fetch(connection, piece.text, limit)
            if columns:
                reach.out.frame(columns, rows)
            if more:
                reach.out.note(f"only the first {limit} rows are shown; --limit 0 shows all")


def _fetch(hub: Hub, text: str, limit: int) -> tuple[list[str], list[list[Any]], bool]:
    frame = hub.sql(text)
    if not frame.columns:
        return [], [], False
    try:
        found = frame.take(limit + 1) if limit else frame.collect()
    except Exception as error:
        from headwater.storage.failures import translate

        raise translate(error, text) from error
    shown = found[:limit] if limit else found
    return frame.columns, [[_plain(v) for v in row] for row in shown], len(shown) < len(found)


def _plain(value: Any) -> Any:
    return value.asDict(recursive=True) if hasattr(value, "asDict") else value


def validate(
    ctx: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="SQL files; - reads stdin."),
    ] = None,
    query: Annotated[
        str | None, typer.Option("--query", "-q", metavar="SQL", help="Judge this text instead.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 unless every query is incremental.")
    ] = False,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Tell whether queries can be kept fresh incrementally.

    Where one cannot, the place in the text, the reason and the remedy are shown. Nothing is
    created and no Spark job runs. A file holds queries or CREATE STREAM TABLE
    statements; other statements in it are passed over.

    Example:
      headwater validate tables/totals.sql --strict
      headwater validate -q "SELECT region, count(*) FROM orders GROUP BY region"
    """
    reach = Reach.of(ctx, hub, form)
    scripts = [Script(query, _OPTION)] if query is not None else []
    scripts += [read_file(path) for path in files or []]
    if not scripts:
        scripts = [read_script(None, None, what="the queries")]
    with reach.existing() as connection:
        judged = [
            found
            for script in scripts
            for piece in script.statements()
            if (found := _judge(connection, piece)) is not None
        ]
    if not judged:
        raise WrongUsage("there is no query in the text")
    _show(reach.out, judged)
    if strict and not all(one.verdict.incremental for one in judged):
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict whose places are those of the file."""

    subject: str
    verdict: Verdict
    script: Script


def _judge(hub: Hub, piece: Piece) -> Judged | None:
    from headwater.sql.statements import (
        CreateStreamTable,
        QueryText,
        parse_statement,
        query_of,
        shift,
        shift_place,
    )

    with piece.located():
        statement = parse_statement(piece.text)
        query = query_of(statement) if statement is not None else _plain_query(piece)
        if query is None:
            return None
        try:
            verdict = hub.validate(query.text)
        except HeadwaterError as error:
            raise shift(error, statement) if statement is not None else error from None
    name = str(statement.name) if isinstance(statement, CreateStreamTable) else "query"

    def moved(place: Any, query: QueryText = query) -> Any:
        return piece.in_script(shift_place(place, query)) if place else None

    nodes = tuple(replace(node, place=moved(node.place)) for node in verdict.nodes)
    where = f"{piece.script.origin}:{piece.lines_before + 1}"
    return Judged(f"{where} {name}", replace(verdict, nodes=nodes), piece.script)


def _plain_query(piece: Piece) -> Any:
    from headwater.sql.statement_tokens import leading
    from headwater.sql.statements import QueryText

    is_query = piece.script.origin == _OPTION or _QUERY_WORDS & set(leading(piece.text, 1))
    return QueryText(piece.text, 1, 1) if is_query else None


def _show(out: Output, judged: list[Judged]) -> None:
    if not out.for_people:
        out.rows(
            [{"subject": one.subject, **one.verdict.to_dict()} for one in judged],
            ["subject", "incremental"],
        )
        return
    for one in judged:
        out.line(f"{one.subject}: {one.verdict}")
        for node in one.verdict.reasons:
            if node.place is not None:
                out.line(node.place.caret(one.script.text))
