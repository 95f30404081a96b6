"""The dependency graph as text for other tools."""

from __future__ import annotations

from headwater.graph.drawing import dot, mermaid

ARROWS = [("default.orders", "default.totals"), ("default.totals", "default.top")]


def test_mermaid_names_each_table_once() -> None:
    assert mermaid(ARROWS).splitlines() == [
        "flowchart LR",
        '  n0[("default.orders")] --> n1["default.totals"]',
        '  n1 --> n2["default.top"]',
    ]


def test_dot_shows_stream_tables_as_boxes() -> None:
    lines = dot(ARROWS).splitlines()
    assert lines[0] == "digraph headwater {"
    assert '  "default.totals" [shape=box];' in lines
    assert '  "default.orders" [shape=box];' not in lines
    assert '  "default.totals" -> "default.top";' in lines
    assert lines[-1] == "}"
