"""The dependency graph as text that other tools draw. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def mermaid(arrows: Sequence[tuple[str, str]]) -> str:
    """A Mermaid flow chart, from source to stream table; base tables are cylinders.

    >>> print(mermaid([("default.orders", "default.totals")]))
    flowchart LR
      n0[("default.orders")] --> n1["default.totals"]
    """
    made = {name for _, name in arrows}
    ids = _numbered(arrows)
    lines = ["flowchart LR"]
    shown: set[str] = set()

    def node(name: str) -> str:
        if name in shown:
            return ids[name]
        shown.add(name)
        return f'{ids[name]}["{name}"]' if name in made else f'{ids[name]}[("{name}")]'

    lines += [f"  {node(source)} --> {node(name)}" for source, name in arrows]
    return "\n".join(lines)


def dot(arrows: Sequence[tuple[str, str]]) -> str:
    """A DOT graph, from source to stream table; stream tables are boxes."""
    made = sorted({name for _, name in arrows})
    lines = ["digraph headwater {", "  rankdir=LR;"]
    lines += [f'  "{name}" [shape=box];' for name in made]
    lines += [f'  "{source}" -> "{name}";' for source, name in arrows]
    return "\n".join([*lines, "}"])


def _numbered(arrows: Sequence[tuple[str, str]]) -> dict[str, str]:
    ids: dict[str, str] = {}
    for source, name in arrows:
        for each in (source, name):
            ids.setdefault(each, f"n{len(ids)}")
    return ids
