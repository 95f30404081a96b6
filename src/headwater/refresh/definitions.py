"""A stream table's definition: query text resolved against its sources.

With everything that follows from it: layout, verdict, hash, and the document in the catalog.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from headwater.core.errors import (
    DependencyCycle,
    InvalidOption,
    InvalidQuery,
    NonDeterministicQuery,
    NotIncremental,
    SourceMissing,
)
from headwater.core.names import TableName
from headwater.core.results import Verdict
from headwater.core.spec import RefreshMode
from headwater.delta.layout import Layout, layout
from headwater.delta.verdict import verdict, without_equality
from headwater.refresh.lookup import CatalogLookup, Seen, SeenLookup
from headwater.sql.define import define
from headwater.sql.lookup import SourceField
from headwater.storage.spark import PINNED_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headwater.catalog.rows import StreamTableRow
    from headwater.core.spec import StreamTableSpec
    from headwater.refresh.runtime import Runtime
    from headwater.refresh.stored_template import Compiled
    from headwater.sql.definition import Definition

FORMAT = 1
"""Grows when compiled programs or layouts of the same query change: old commits then differ."""


@dataclass(frozen=True)
class Resolved:
    """A definition that fits the tables as they are.

    Attributes:
        sources: the tables it reads.
        found: the operator tree and what it was resolved against; asked for when needed, since a
            refresh from the caches does without.
        owner: id and generation of the stream table it belongs to; None for a mere query.
    """

    layout: Layout
    verdict: Verdict
    hash: str
    sources: tuple[TableName, ...]
    found: Callable[[], tuple[Definition, Seen]] = field(compare=False, repr=False)
    owner: tuple[int, int] | None = None

    @cached_property
    def _found(self) -> tuple[Definition, Seen]:
        return self.found()

    @property
    def definition(self) -> Definition:
        """The query as an operator tree."""
        return self._found[0]

    @property
    def seen(self) -> Seen:
        """What the query was resolved against."""
        return self._found[1]

    @property
    def obstacle(self) -> tuple[str, str] | None:
        """Why the query cannot be maintained incrementally."""
        for node in self.verdict.reasons:
            return (node.reason_code or "NOT_INCREMENTAL", node.reason or "no delta rule")
        return None

    def document(self, stream_tables: frozenset[TableName]) -> dict[str, Any]:
        """What the catalog keeps, so that reading status needs no compiler."""
        return {
            "sources": [str(name) for name in self.definition.sources],
            "stream_tables": sorted(str(n) for n in self.definition.sources if n in stream_tables),
            "used": {
                str(name): [[f.name, f.type] for f in fields]
                for name, fields in self.definition.used.items()
            },
            "views": dict(self.definition.views),
            "schemas": {
                str(name): [[f.name, f.type] for f in fields]
                for name, fields in self.seen.schemas.items()
            },
            "view_texts": {str(name): text for name, text in self.seen.views.items()},
            "uses_clock": self.definition.uses_clock,
            "incremental": self.verdict.incremental,
            "obstacle": list(self.obstacle) if self.obstacle else None,
            "warnings": list(self.verdict.warnings),
        }


@dataclass(frozen=True, slots=True)
class Stored:
    """The definition document of a catalog row, read back."""

    sources: tuple[TableName, ...]
    stream_tables: frozenset[TableName]
    used: Mapping[TableName, tuple[SourceField, ...]]
    views: Mapping[str, str]
    seen: Seen
    uses_clock: bool
    incremental: bool
    obstacle: tuple[str, str] | None

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Stored:
        """From what `Resolved.document` wrote."""
        obstacle = document.get("obstacle")
        return cls(
            sources=tuple(TableName.parse(n) for n in document["sources"]),
            stream_tables=frozenset(TableName.parse(n) for n in document["stream_tables"]),
            used=_fields(document["used"]),
            views=dict(document["views"]),
            seen=Seen(
                _fields(document["schemas"]),
                {TableName.parse(n): text for n, text in document["view_texts"].items()},
            ),
            uses_clock=bool(document["uses_clock"]),
            incremental=bool(document["incremental"]),
            obstacle=(obstacle[0], obstacle[1]) if obstacle else None,
        )


def _fields(document: Mapping[str, Any]) -> dict[TableName, tuple[SourceField, ...]]:
    return {
        TableName.parse(name): tuple(SourceField(*f) for f in fields)
        for name, fields in document.items()
    }


def resolve(runtime: Runtime, query: str, unique_key: tuple[str, ...] = ()) -> Resolved:
    """Resolve a query against the tables as they are now."""
    return _resolved(CatalogLookup(runtime), query, unique_key)


def resolve_stored(
    runtime: Runtime, query: str, unique_key: tuple[str, ...], stored: Stored
) -> Resolved:
    """Resolve a query against what it was resolved against when it was declared."""
    return _resolved(
        SeenLookup(stored.seen, runtime.functions, runtime.lake.catalog), query, unique_key
    )


def _resolved(
    lookup: CatalogLookup | SeenLookup, query: str, unique_key: tuple[str, ...]
) -> Resolved:
    definition = define(query, lookup)
    plan = layout(definition, unique_key=unique_key)
    key = definition_hash(definition, plan)
    found = (definition, lookup.seen)
    return Resolved(plan, verdict(definition), key, definition.sources, lambda: found)


def restored(compiled: Compiled, resolve: Callable[[], Resolved]) -> Resolved:
    """A definition from a cache; `resolve` compiles it should its operator tree be asked for."""

    def found() -> tuple[Definition, Seen]:
        resolved = resolve()
        return resolved.definition, resolved.seen

    return Resolved(compiled.layout, compiled.verdict, compiled.hash, compiled.sources, found)


def with_types(resolved: Resolved, columns: Sequence[tuple[str, str]]) -> Resolved:
    """The same, judged by the types that Spark gives the columns; the compiler knows not all."""
    obstacle = without_equality(columns)
    if obstacle is None or not resolved.verdict.incremental:
        return resolved
    judged = replace(resolved.verdict, incremental=False, nodes=(*resolved.verdict.nodes, obstacle))
    return replace(resolved, verdict=judged)


def changed_view(runtime: Runtime, stored: Stored) -> str | None:
    """A sentence about the first view whose text is not what it was; None when all are."""
    for name, text in stored.seen.views.items():
        now = runtime.tables.view_text(name)
        if now != text:
            return f"view {name} was {'dropped' if now is None else 'changed'}"
    return None


def definition_hash(definition: Definition, plan: Layout) -> str:
    """Identity of what is computed, however it is written: plan, columns, types, settings."""
    content = {
        "format": FORMAT,
        "initial": plan.initial,
        "columns": [*plan.visible, *plan.hidden],
        "key": plan.key,
        "unique_key": plan.unique_key,
        "sources": [str(name) for name in definition.sources],
        "used": {str(k): [[f.name, f.type] for f in v] for k, v in definition.used.items()},
        "settings": dict(PINNED_SETTINGS),
    }
    return hashlib.blake2b(msgspec.json.encode(content, order="sorted"), digest_size=16).hexdigest()


def check_spec(spec: StreamTableSpec, resolved: Resolved) -> None:
    """Refuse what this stream table cannot be."""
    for fact in resolved.definition.facts:
        if fact.reason_code == "NONDET_FUNC":
            raise NonDeterministicQuery(
                fact.reason, hint=fact.advice, place=fact.place, sql=spec.query
            )
    if not resolved.definition.sources:
        raise InvalidQuery(
            "the query reads no table", hint="a stream table follows the changes of its sources"
        )
    if spec.name in resolved.definition.sources:
        raise DependencyCycle(
            f"{spec.name} reads itself", hint="read the sources it is made from instead"
        )
    visible = {name.lower() for name, _ in resolved.definition.output}
    for option in ("unique_key", "sort_by"):
        for column in getattr(spec, option):
            if column.lower() not in visible:
                raise InvalidOption(
                    f"{option}: no column {column!r} in the result",
                    hint=f"use columns of the result: {', '.join(sorted(visible))}",
                )
    if spec.refresh_mode is RefreshMode.IMMEDIATE:
        raise InvalidOption(
            "refresh mode IMMEDIATE is not available yet",
            hint="use AUTO and refresh after the write, or a short schedule",
        )
    check_mode(spec, resolved)


def check_mode(spec: StreamTableSpec, resolved: Resolved) -> None:
    """Refuse a mode that the query does not allow."""
    if (
        spec.refresh_mode in (RefreshMode.INCREMENTAL, RefreshMode.STRICT)
        and not resolved.verdict.incremental
    ):
        node = resolved.verdict.reasons[0] if resolved.verdict.reasons else None
        code, reason = resolved.obstacle or ("NOT_INCREMENTAL", "no delta rule")
        raise NotIncremental(
            f"{spec.name} cannot be {spec.refresh_mode}: {code}: {reason}",
            hint=(node.advice if node and node.advice else "") or "use refresh mode AUTO or FULL",
            place=node.place if node else None,
            sql=spec.query,
        )


def layout_document(plan: Layout) -> dict[str, Any]:
    """The layout as the catalog keeps it."""
    return msgspec.to_builtins(asdict(plan))  # type: ignore[no-any-return]


def require_sources(runtime: Runtime, sources: tuple[TableName, ...]) -> None:
    """Fail when a source is gone."""
    for name in sources:
        if runtime.tables.location(name) is None:
            raise SourceMissing(
                f"source table {name} is missing",
                hint="create it again with the same columns, or drop the stream table",
            )


def resolved_for(runtime: Runtime, row: StreamTableRow) -> Resolved:
    """The resolved definition of a stream table, from the caches or compiled."""

    def resolve_again() -> Resolved:
        stored = Stored.read(row.definition)
        resolved = resolve_stored(runtime, row.spec.query, row.spec.unique_key, stored)
        return with_types(resolved, row.columns)

    return runtime.templates.definition(row, resolve_again)
