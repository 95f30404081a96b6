"""Circles: sets of nodes that reach each other, found in linear time without recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

N = TypeVar("N")


def circles(arrows: Mapping[N, Collection[N]]) -> tuple[tuple[N, ...], ...]:
    """The strongly connected components of more than one node, and nodes with an arrow to itself.

    Tarjan's algorithm with a stack of its own: a chain of thousands of tables is no problem. Ends
    of arrows that are no nodes are ignored.

    >>> circles({"a": ["b"], "b": ["a"], "c": ["a"]})
    (('b', 'a'),)
    """
    index: dict[N, int] = {}
    low: dict[N, int] = {}
    stack: list[N] = []
    on_stack: set[N] = set()
    found: list[tuple[N, ...]] = []
    for start in arrows:
        if start in index:
            continue
        work = [(start, iter(arrows[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, rest = work[-1]
            following = next((n for n in rest if n in arrows), None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = _popped(stack, on_stack, node)
                    if len(component) > 1 or node in arrows[node]:
                        found.append(component)
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(arrows[following])))
            elif following in on_stack:
                low[node] = min(low[node], index[following])
    return tuple(found)


def _popped(stack: list[N], on_stack: set[N], until: N) -> tuple[N, ...]:
    component = []
    while True:
        node = stack.pop()
        on_stack.discard(node)
        component.append(node)
        if node == until:
            return tuple(component)
