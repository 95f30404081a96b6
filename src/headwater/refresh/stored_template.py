"""Compiled refreshes and definitions as bytes, for the caches that outlive a process.

What cannot be read back exactly is not stored, and what cannot be read counts as absent.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from headwater.core.errors import Place
from headwater.core.names import TableName
from headwater.core.results import NodeStrategy, Verdict
from headwater.core.spec import ApplyKind
from headwater.delta.program import Layout, LayoutKind, Program, Stage

if TYPE_CHECKING:
    from headwater.refresh.definitions import Resolved


@dataclass(frozen=True)
class Compiled:
    """What a refresh needs of a definition; the operator tree is not part of it."""

    hash: str
    layout: Layout
    verdict: Verdict
    sources: tuple[TableName, ...]

    @classmethod
    def of(cls, resolved: Resolved) -> Compiled:
        """The part of a resolved definition that is kept."""
        return cls(resolved.hash, resolved.layout, resolved.verdict, resolved.sources)


def program_bytes(program: Program) -> bytes | None:
    """A program as bytes; None when it would not come back as it is."""
    stored = msgspec.msgpack.encode(asdict(program))
    return stored if read_program(stored) == program else None


def read_program(stored: bytes) -> Program | None:
    """The program; None when the bytes say nothing of the kind."""
    try:
        fields = msgspec.msgpack.decode(stored)
        fields["apply"] = ApplyKind(fields["apply"])
        fields["stages"] = tuple(Stage(**s) for s in fields["stages"])
        fields["strategy"] = _nodes(fields["strategy"])
        fields["whole"] = tuple(fields["whole"])
        return Program(**fields)
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError):
        return None


def compiled_bytes(compiled: Compiled) -> bytes | None:
    """A definition as bytes; None when it would not come back as it is."""
    layout = {**asdict(compiled.layout), "kind": compiled.layout.kind.name}
    document = {
        "hash": compiled.hash,
        "layout": layout,
        "verdict": asdict(compiled.verdict),
        "sources": [str(name) for name in compiled.sources],
    }
    stored = msgspec.msgpack.encode(document)
    return stored if read_compiled(stored) == compiled else None


def read_compiled(stored: bytes) -> Compiled | None:
    """The definition; None when the bytes say nothing of the kind."""
    try:
        fields = msgspec.msgpack.decode(stored)
        layout, verdict = _tuples(fields["layout"]), _tuples(fields["verdict"])
        layout["kind"] = LayoutKind[layout["kind"]]
        verdict["nodes"] = _nodes(verdict["nodes"])
        return Compiled(
            hash=fields["hash"],
            layout=Layout(**layout),
            verdict=Verdict(**verdict),
            sources=tuple(TableName.parse(name) for name in fields["sources"]),
        )
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError):
        return None


def _nodes(documents: list[dict[str, Any]]) -> tuple[NodeStrategy, ...]:
    nodes = []
    for document in documents:
        fields = _tuples(document)
        place = fields.pop("place", None)
        nodes.append(NodeStrategy(**fields, place=Place(**place) if place else None))
    return tuple(nodes)


def _tuples(document: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in document.items()}
