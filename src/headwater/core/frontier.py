"""The frontier: what the content of one version of a stream table equals.

Kept in the summary of the snapshot that a refresh commits (the truth) and copied to the catalog.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from headwater.core.names import TableName

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """One version of one source: table identity, snapshot (None: empty, never written), schema."""

    table_id: str
    snapshot_id: int | None
    schema_id: int = 0


@dataclass(frozen=True, slots=True)
class Frontier:
    """The version of each source, of each base table below it, and what else decides the rows.

    Attributes:
        sources: version of each table the query reads.
        base: version of each base table, resolved through stream tables that are sources.
        clock: the instant used by temporal filters, in epoch microseconds.
        views: hash of each expanded view's text.
    """

    sources: Mapping[TableName, SourceVersion]
    base: Mapping[TableName, SourceVersion] = field(default_factory=dict)
    clock: int | None = None
    views: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """A stable text form for snapshot summaries and catalog rows."""
        document = {
            "sources": {str(k): _pack(v) for k, v in sorted(self.sources.items())},
            "base": {str(k): _pack(v) for k, v in sorted(self.base.items())},
            "clock": self.clock,
            "views": dict(sorted(self.views.items())),
        }
        return msgspec.json.encode(document).decode()

    @classmethod
    def from_json(cls, text: str) -> Frontier:
        """Read what `to_json` wrote."""
        document = msgspec.json.decode(text.encode(), type=_FrontierDocument)
        return cls(
            sources={TableName.parse(k): SourceVersion(*v) for k, v in document.sources.items()},
            base={TableName.parse(k): SourceVersion(*v) for k, v in document.base.items()},
            clock=document.clock,
            views=document.views,
        )

    def versions(self) -> dict[str, int | None]:
        """Source name → snapshot id, as users see it."""
        return {str(name): v.snapshot_id for name, v in sorted(self.sources.items())}


class _FrontierDocument(msgspec.Struct):
    sources: dict[str, tuple[str, int | None, int]]
    base: dict[str, tuple[str, int | None, int]] = {}
    clock: int | None = None
    views: dict[str, str] = {}


def _pack(version: SourceVersion) -> tuple[str, int | None, int]:
    return (version.table_id, version.snapshot_id, version.schema_id)
