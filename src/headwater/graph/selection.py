"""Selections: the words by which several stream tables are named at once.

    name  +name  name+  +name+  tag:x  tier:hot  *        and lists of them

`+` before a term adds everything it reads, `+` after it everything that reads it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.core.errors import InvalidOption, StreamTableNotFound
from headwater.core.names import TableName
from headwater.core.spec import Tier
from headwater.core.spelling import nearest, nearest_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headwater.graph.dependencies import Graph

_SEPARATOR = re.compile(r"[\s,]+")
_HINT = "use name, +name, name+, +name+, tag:x, tier:hot, * or a list of them"


@dataclass(frozen=True, slots=True)
class Traits:
    """What a selection may ask about a stream table."""

    tier: Tier = Tier.HOT
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a selection."""

    kind: str
    value: str
    upstream: bool = False
    downstream: bool = False


def parse_selection(selection: str | Iterable[str]) -> tuple[Term, ...]:
    """Read a selection: words between blanks or commas, or a list of such texts.

    >>> [t.value for t in parse_selection("+orders, tag:nightly")]
    ['orders', 'nightly']
    """
    texts = [selection] if isinstance(selection, str) else list(selection)
    words = [w for text in texts for w in _SEPARATOR.split(str(text)) if w]
    if not words:
        raise InvalidOption("the selection is empty", hint=_HINT)
    return tuple(_term(word) for word in words)


def select(
    selection: str | Iterable[str], graph: Graph, traits: Mapping[TableName, Traits]
) -> tuple[TableName, ...]:
    """The selected stream tables, upstream first.

    Raises:
        StreamTableNotFound: a name that is no stream table.
        InvalidOption: a malformed term, or a tag nobody has.
    """
    chosen: set[TableName] = set()
    for term in parse_selection(selection):
        matched = _match(term, graph, traits)
        if term.upstream:
            chosen |= graph.upstream(matched)
        if term.downstream:
            chosen |= graph.downstream(matched)
        chosen |= matched
    return tuple(name for name in graph.order if name in chosen)


def _term(word: str) -> Term:
    upstream, downstream = word.startswith("+"), word.endswith("+") and len(word) > 1
    body = word[upstream : len(word) - downstream]
    kind, colon, value = body.partition(":")
    if not colon:
        kind, value = ("all", "*") if body == "*" else ("name", body)
    if kind not in ("all", "name", "tag", "tier") or not value or "+" in value:
        raise InvalidOption(f"{word!r} is not a selection", hint=_HINT)
    return Term(kind, value, upstream, downstream)


def _match(term: Term, graph: Graph, traits: Mapping[TableName, Traits]) -> frozenset[TableName]:
    match term.kind:
        case "all":
            return frozenset(graph.sources)
        case "tier":
            return _of_tier(term.value, graph, traits)
        case "tag":
            return _of_tag(term.value, graph, traits)
        case _:
            return _named(term, graph)


def _named(term: Term, graph: Graph) -> frozenset[TableName]:
    name = TableName.parse(term.value)
    if name in graph.sources:
        return frozenset({name})
    if name in graph.consumers:
        if term.downstream:
            return frozenset({name})
        raise StreamTableNotFound(
            f"{name} is a source, not a stream table",
            hint=f"{name}+ selects the stream tables that read it",
        )
    guess = nearest_table(name, graph.sources)
    hint = f"did you mean {guess}?" if guess else "list the stream tables there are"
    raise StreamTableNotFound(f"no stream table {name}", hint=hint)


def _of_tag(tag: str, graph: Graph, traits: Mapping[TableName, Traits]) -> frozenset[TableName]:
    found = frozenset(n for n in graph.sources if n in traits and tag in traits[n].tags)
    if found:
        return found
    known = sorted({t for trait in traits.values() for t in trait.tags})
    guess = nearest(tag, known)
    hint = f"did you mean tag:{guess}?" if guess else f"known tags: {', '.join(known) or 'none'}"
    raise InvalidOption(f"no stream table has the tag {tag!r}", hint=hint)


def _of_tier(word: str, graph: Graph, traits: Mapping[TableName, Traits]) -> frozenset[TableName]:
    try:
        tier = Tier(word.lower())
    except ValueError:
        known = ", ".join(t.value for t in Tier)
        raise InvalidOption(f"unknown tier {word!r}", hint=f"use one of {known}") from None
    return frozenset(n for n in graph.sources if traits.get(n, Traits()).tier is tier)
