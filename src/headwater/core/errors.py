"""The one hierarchy of errors: what happened, where, what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headwater.core.results import RefreshResult

Kind = Literal["user", "schema", "transient", "bug"]


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a SQL text, both counted from 1."""

    line: int
    column: int

    def caret(self, text: str) -> str:
        """The line of `text` with a caret under the column."""
        lines = text.splitlines() or [""]
        line = lines[min(self.line, len(lines)) - 1]
        return f"{line}\n{' ' * (self.column - 1)}^"


class HeadwaterError(Exception):
    """Base of every error Headwater raises on purpose.

    Attributes:
        code: stable identifier `HW####`, documented in `docs/errors.md`.
        kind: who can act: `user`, `schema`, `transient` (a retry may help), `bug`.
        place: position in the SQL text, when the error is about SQL.
        hint: what to do next; `advice` of the class unless the error knows better.
    """

    code: ClassVar[str] = "HW9000"
    kind: ClassVar[Kind] = "bug"
    summary: ClassVar[str] = "unexpected failure"
    advice: ClassVar[str] = "run it again with --debug and report what it prints"

    def __init__(
        self, what: str, *, hint: str = "", place: Place | None = None, sql: str | None = None
    ) -> None:
        self.what = what
        self.hint = hint or self.advice
        self.place = place
        self.sql = sql
        super().__init__(what)

    @property
    def is_transient(self) -> bool:
        """Whether the same refresh may succeed when it is tried again."""
        return self.kind == "transient"

    def __str__(self) -> str:
        parts = [f"{self.code}: {self.what}"]
        if self.place is not None:
            parts.append(f"at line {self.place.line}, column {self.place.column}")
            if self.sql is not None:
                parts.append(self.place.caret(self.sql))
        if self.hint:
            parts.append(f"Do: {self.hint}")
        return "\n".join(parts)


class InvalidName(HeadwaterError):
    """A table or column name that cannot be used."""

    code, kind, summary = "HW1001", "user", "invalid name"
    advice = "use name or namespace.name, made of letters, digits and underscores"

    def __init__(self, name: str, *, reserved: bool = False) -> None:
        super().__init__(f"{name!r} {'is reserved' if reserved else 'is not a valid table name'}")


class SqlSyntaxError(HeadwaterError):
    """The SQL text cannot be parsed."""

    code, kind, summary = "HW1002", "user", "SQL syntax error"
    advice = "correct the SQL at the place shown"


class UnknownTable(HeadwaterError):
    """A query reads a table that does not exist."""

    code, kind, summary = "HW1003", "user", "unknown table"
    advice = "create the table first, or correct its name"


class UnknownColumn(HeadwaterError):
    """A query uses a column that does not exist, or is ambiguous."""

    code, kind, summary = "HW1004", "user", "unknown or ambiguous column"
    advice = "correct the name, or qualify it with its table"


class DuplicateColumn(HeadwaterError):
    """The output of a query has two columns of one name, or a reserved one."""

    code, kind, summary = "HW1005", "user", "duplicate or reserved output column"
    advice = "give the column another alias"


class InvalidQuery(HeadwaterError):
    """The query is valid SQL but cannot define a stream table."""

    code, kind, summary = "HW1006", "user", "query cannot define a stream table"
    advice = "change the query; the guide tells what a stream table can be"


class NonDeterministicQuery(HeadwaterError):
    """The query gives other rows each time it runs."""

    code, kind, summary = "HW1007", "user", "non-deterministic query"
    advice = "compute the value in the source table"


class InvalidOption(HeadwaterError):
    """An option has a value it cannot have."""

    code, kind, summary = "HW1008", "user", "invalid option"
    advice = "see the reference for the values it can have"


class UnknownSetting(HeadwaterError):
    """A setting that does not exist, or a value out of its range."""

    code, kind, summary = "HW1009", "user", "unknown setting or invalid value"
    advice = "`settings` lists the names, values and ranges"


class StreamTableExists(HeadwaterError):
    """A table of that name is there already."""

    code, kind, summary = "HW2001", "user", "table exists already"
    advice = "choose another name"


class StreamTableNotFound(HeadwaterError):
    """No stream table of that name."""

    code, kind, summary = "HW2002", "user", "no such stream table"
    advice = "`status` lists the stream tables there are"


class HasDependents(HeadwaterError):
    """Other stream tables read this one."""

    code, kind, summary = "HW2003", "user", "other stream tables depend on it"
    advice = "drop those first, or drop with cascade"


class DependencyCycle(HeadwaterError):
    """Stream tables would read each other in a circle."""

    code, kind, summary = "HW2004", "user", "cyclic dependency"
    advice = "take one of these tables out of the query of another"


class NotIncremental(HeadwaterError):
    """INCREMENTAL was asked for and the query cannot be maintained that way."""

    code, kind, summary = "HW2005", "user", "query cannot be maintained incrementally"
    advice = "use refresh mode AUTO or FULL"


class FullRefreshRefused(HeadwaterError):
    """A full refresh would be needed and the mode forbids it."""

    code, kind, summary = "HW3001", "user", "a full refresh is needed and the mode forbids it"
    advice = "refresh with full=True to allow it once"


class StreamTableSuspended(HeadwaterError):
    """The stream table is suspended."""

    code, kind, summary = "HW3002", "user", "stream table is suspended"
    advice = "mend the cause, then resume_stream_table"


class UniqueKeyViolated(HeadwaterError):
    """The declared unique key is not unique in the result."""

    code, kind, summary = "HW3003", "user", "declared unique key is violated"
    advice = "make the key unique in the query, or take unique_key away"


class AppendOnlyViolated(HeadwaterError):
    """A source of an append-only stream table had deletes or updates."""

    code, kind, summary = "HW3004", "user", "append-only promise is violated"
    advice = "alter with append_only=False, or refresh with full=True"


class RefreshFailed(HeadwaterError):
    """Of several stream tables some could not be refreshed; the others were.

    Attributes:
        results: what was done, also of the stream tables that were skipped.
        errors: the error of each stream table that failed, by name.
    """

    code, kind, summary = "HW3005", "user", "some stream tables could not be refreshed"
    advice = "mend each cause, then refresh again; `errors` has every error with its hint"

    def __init__(
        self, results: Sequence[RefreshResult], errors: Mapping[str, HeadwaterError]
    ) -> None:
        self.results = list(results)
        self.errors = dict(errors)
        told = "; ".join(f"{name}: {e.code}: {e.what}" for name, e in errors.items())
        (first, *more) = dict.fromkeys(error.hint for error in errors.values())
        super().__init__(
            f"{len(errors)} of {len(errors) + len(results)} stream tables failed: {told}",
            hint="" if more else first,
        )


class FixpointNotReached(HeadwaterError):
    """Stream tables that read each other in a circle did not settle."""

    code, kind, summary = "HW3006", "user", "a circle of stream tables does not settle"
    advice = "let the circle remove duplicates and make no new values"


class RefreshAwaited(HeadwaterError):
    """The definition of a stream table was changed, its content is still that of the old one."""

    code, kind, summary = "HW3007", "user", "the stream table waits for its next refresh"
    advice = "refresh it first"


class SourceSchemaChanged(HeadwaterError):
    """A column the query uses was dropped, renamed or retyped."""

    code, kind, summary = "HW4001", "schema", "schema of a source changed"
    advice = "restore the column, or alter the query"


class SourceMissing(HeadwaterError):
    """A source table is gone."""

    code, kind, summary = "HW4002", "schema", "source table is missing"
    advice = "create the table again, or drop the stream table"


class StorageDamaged(HeadwaterError):
    """Files or metadata of a table are missing or unreadable."""

    code, kind, summary = "HW4003", "schema", "table files are missing or unreadable"
    advice = "restore the file, or roll the table back to a version whose files exist"


class CatalogDamaged(HeadwaterError):
    """A row of the catalog cannot be read."""

    code, kind, summary = "HW4004", "schema", "catalog row is unreadable"
    advice = "restore the catalog from a backup"


class VersionExpired(HeadwaterError):
    """A version needed to answer is no longer retained."""

    code, kind, summary = "HW4005", "schema", "needed table version has expired"
    advice = "refresh with full=True, and retain snapshots longer"


class RefreshConflict(HeadwaterError):
    """Another run published first; this one was refused and changed nothing."""

    code, kind, summary = "HW5001", "transient", "another refresh published first"
    advice = "refresh again"


class CatalogBusy(HeadwaterError):
    """The catalog database did not answer in time."""

    code, kind, summary = "HW5002", "transient", "catalog database is busy"
    advice = "try again; see what holds the database"


class CatalogTooNew(HeadwaterError):
    """The catalog was written by a newer Headwater."""

    code, kind, summary = "HW5003", "user", "catalog schema is newer than this package"
    advice = "upgrade the headwater package"


class SparkUnavailable(HeadwaterError):
    """Spark or Java cannot be started."""

    code, kind, summary = "HW5004", "user", "Spark cannot be started"
    advice = "run `headwater doctor`"


class QueryFailed(HeadwaterError):
    """Spark refused or failed to run the query."""

    code, kind, summary = "HW5005", "user", "the query failed in Spark"
    advice = "change the query or the data as the message says"


class CatalogUnavailable(HeadwaterError):
    """The catalog database cannot be opened or written: address, driver, rights, disk."""

    code, kind, summary = "HW5006", "user", "catalog database cannot be used"
    advice = "check the address, that the server runs and that this user may write"


class RunInterrupted(HeadwaterError):
    """The process that ran a refresh ended before the refresh did."""

    code, kind, summary = "HW5007", "transient", "the process that ran the refresh ended"
    advice = "refresh again: what was not published left no trace"


class RefreshCancelled(HeadwaterError):
    """A refresh took too long, or the scheduler stopped; its Spark jobs were cancelled."""

    code, kind, summary = "HW5008", "transient", "refresh was cancelled"
    advice = "nothing was published; it is tried again"


class SparkLost(HeadwaterError):
    """Spark, or a part of it, went away during a refresh."""

    code, kind, summary = "HW5009", "transient", "Spark went away during the refresh"
    advice = "nothing was published; it is tried again, see the logs of Spark for the cause"


class WorkersUnavailable(HeadwaterError):
    """No worker process, or no Spark Connect server for them, could be started or reached."""

    code, kind, summary = "HW5010", "transient", "workers cannot be started"
    advice = "it is tried again; run `headwater doctor`, or set worker_kind to thread"


class PlanBug(HeadwaterError):
    """A compiler contract is broken: a bug in Headwater."""

    code, kind, summary = "HW9001", "bug", "internal: compiler contract broken"
    advice = "use refresh mode FULL until it is mended, and report the query"


def restored(code: str, what: str, hint: str) -> HeadwaterError:
    """An error that was told by another process: its class, by its code, and its words."""
    found = next((kind for kind in _kinds(HeadwaterError) if kind.code == code), HeadwaterError)
    error = found.__new__(found)
    HeadwaterError.__init__(error, what, hint=hint)
    return error


def _kinds(base: type[HeadwaterError]) -> Iterator[type[HeadwaterError]]:
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)


class HeadwaterWarning(UserWarning):
    """Something that works, and that the user should know; `code` names it."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(f"{code}: {message}")
