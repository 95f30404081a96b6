"""Selections of stream tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import HeadwaterError, InvalidOption, StreamTableNotFound
from headwater.core.names import TableName
from headwater.core.spec import Tier
from headwater.graph.dependencies import Graph
from headwater.graph.selection import Traits, select


def name(text: str) -> TableName:
    return TableName.parse(text)


GRAPH = Graph.build(
    {
        name("left"): [name("base")],
        name("right"): [name("base")],
        name("top"): [name("left"), name("right")],
        name("over"): [name("top")],
        name("mart.lone"): [name("other")],
    }
)
TRAITS = {
    name("left"): Traits(Tier.HOT, ("nightly",)),
    name("right"): Traits(Tier.COLD, ("nightly", "sales")),
    name("top"): Traits(Tier.WARM),
    name("mart.lone"): Traits(Tier.COLD),
}


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ("top", "top"),
        ("default.top", "top"),
        ("TOP", "top"),
        ("+top", "left right top"),
        ("top+", "top over"),
        ("+top+", "left right top over"),
        ("mart.lone", "lone"),
        ("*", "left right top over lone"),
        ("tag:nightly", "left right"),
        ("tag:sales+", "right top over"),
        ("tier:cold", "right lone"),
        ("tier:HOT", "left over"),
        ("tier:frozen", ""),
        ("base+", "left right top over"),
        ("over, left", "left over"),
        ("over left over", "left over"),
        (["over", "+left,mart.lone"], "left over lone"),
        (("*", "top"), "left right top over lone"),
    ],
)
def test_selections(selection: object, expected: str) -> None:
    chosen = select(selection, GRAPH, TRAITS)  # type: ignore[arg-type]
    assert " ".join(n.name for n in chosen) == expected


@pytest.mark.parametrize(
    ("selection", "error", "hint"),
    [
        ("tpo", StreamTableNotFound, "did you mean default.top?"),
        ("zzzzzz", StreamTableNotFound, "list the stream tables"),
        ("base", StreamTableNotFound, "default.base+ selects"),
        ("+base", StreamTableNotFound, "default.base+ selects"),
        ("tag:nigthly", InvalidOption, "did you mean tag:nightly?"),
        ("tier:boiling", InvalidOption, "hot, warm, cold, frozen"),
        ("", InvalidOption, "use name"),
        ([], InvalidOption, "use name"),
        ("+", InvalidOption, "use name"),
        ("++top", InvalidOption, "use name"),
        ("top++", InvalidOption, "use name"),
        ("colour:red", InvalidOption, "use name"),
        ("tag:", InvalidOption, "use name"),
    ],
)
def test_refusals_say_what_to_do(selection: object, error: type[HeadwaterError], hint: str) -> None:
    with pytest.raises(error) as refused:
        select(selection, GRAPH, TRAITS)  # type: ignore[arg-type]
    assert hint in refused.value.hint


@given(st.text(alphabet="abtop+:*, .tagier'`-", max_size=12))
def test_any_text_selects_or_says_why_not(text: str) -> None:
    try:
        chosen = select(text, GRAPH, TRAITS)
    except HeadwaterError:
        return
    assert [n for n in GRAPH.order if n in set(chosen)] == list(chosen)
