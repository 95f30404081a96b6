"""Plain Spark SQL on a hub, in which stream tables show their visible columns only.

Each place that reads a stream table is replaced by a sub-select, in the text the user wrote. Names
mean what they mean in the session: `USE` and temporary views count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.core.errors import HeadwaterError, InvalidName
from headwater.core.names import HIDDEN_PREFIX, TableName, quote
from headwater.sql.references import substituted
from headwater.sql.statement_tokens import leading, place_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headwater.core.errors import Place
    from headwater.refresh.runtime import Runtime
    from headwater.sql.references import Substituted, TableReference

_HIDDEN_LINE = r",\\n  `?__hw_\\w+`? [^\\n]*?(?=,\\n|\\)\\n)"
"""A hidden column in the text of SHOW CREATE TABLE; it never comes first."""


def run_plain(runtime: Runtime, text: str) -> DataFrame:
    """Run one statement of Spark."""
    session = runtime.engine.user
    shown = substituted(text, lambda ref: _visible(runtime, session, ref))
    try:
        frame = runtime.engine.run(session, text if shown is None else shown.text)
    except HeadwaterError as error:
        if shown is not None and error.place is not None:
            error.place = _as_written(error.place, shown, text)
            error.sql = text
        raise
    return _without_hidden(frame, text)


def _without_hidden(frame: DataFrame, text: str) -> DataFrame:
    hidden = [c for c in frame.columns if c.startswith(HIDDEN_PREFIX)]
    if hidden:
        frame = frame.drop(*hidden)
    if frame.columns[:1] == ["col_name"]:
        frame = frame.where(f"NOT startswith(col_name, '{HIDDEN_PREFIX}')")
    if leading(text, 3) == ["SHOW", "CREATE", "TABLE"] and frame.columns == ["createtab_stmt"]:
        frame = frame.selectExpr(
            f"regexp_replace(createtab_stmt, '{_HIDDEN_LINE}', '') AS createtab_stmt"
        )
    return frame


def _as_written(place: Place, shown: Substituted, text: str) -> Place:
    """A place in the text that Spark saw, as a place in the text the user wrote."""
    lines = shown.text.splitlines(keepends=True)
    offset = sum(len(line) for line in lines[: place.line - 1]) + place.column - 1
    return place_at(text, min(shown.original(offset), len(text)))


def _visible(runtime: Runtime, session: SparkSession, reference: TableReference) -> str | None:
    """A sub-select of the visible columns, for tables that have others."""
    name = _meant(runtime, session, reference.parts)
    metadata = None if name is None else runtime.tables.metadata(name)
    if name is None or metadata is None:
        return None
    names = [f.name for f in metadata.current_schema.fields]
    if not any(n.startswith(HIDDEN_PREFIX) for n in names):
        return None
    if len(reference.parts) == 1 and _is_temporary(session, reference.name):
        return None
    shown = ", ".join(quote(n) for n in names if not n.startswith(HIDDEN_PREFIX))
    travel = f" {reference.travel}" if reference.travel else ""
    return f"(SELECT {shown} FROM {name.sql(runtime.lake.catalog)}{travel})"


def _meant(runtime: Runtime, session: SparkSession, parts: tuple[str, ...]) -> TableName | None:
    """The table of the lake that a name stands for in the session."""
    catalog = runtime.lake.catalog
    if len(parts) == 2 and parts[0] == catalog:
        return None
    if len(parts) < 3:
        if session.catalog.currentCatalog() != catalog:
            return None
        here = session.catalog.currentDatabase() if len(parts) == 1 else parts[0]
        parts = (catalog, here, parts[-1])
    if len(parts) > 3 or parts[0] != catalog:
        return None
    try:
        return TableName.parse(".".join(parts[1:]))
    except InvalidName:
        return None


def _is_temporary(session: SparkSession, name: str) -> bool:
    """Whether a name without a namespace is that of a temporary view, which comes first."""
    return bool(session.catalog.getTable(quote(name)).isTemporary)
