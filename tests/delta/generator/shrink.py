"""Makes a failing case small: fewer rounds, rows, columns, tables, and a shorter query.

Greedy: a candidate that still fails in the same way replaces the case, until none does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import sqlglot
from sqlglot import exp

from generator.cases import Case, Story
from generator.changes import Content, Round

Fails = Callable[[Case], bool]


def shrunk(case: Case, fails: Fails, budget: int = 400) -> Case:
    """The smallest case that was found; `fails` says whether one still fails alike."""
    spent = 0
    progress = True
    while progress:
        progress = False
        for candidate in _candidates(case):
            spent += 1
            if spent > budget:
                return case
            if fails(candidate):
                case, progress = candidate, True
                break
    return case


def _candidates(case: Case) -> Iterator[Case]:
    yield from (replace(case, story=story) for story in _fewer_rounds(case.story))
    yield from _shorter_queries(case)
    yield from (replace(case, story=story) for story in _fewer_rows(case.story))
    yield from _narrower(case)


def _fewer_rounds(story: Story) -> Iterator[Story]:
    """Without one round; its changes happen in the next one, or never."""
    for i in range(len(story.rounds) - 1, -1, -1):
        rounds = (*story.rounds[:i], *story.rounds[i + 1 :])
        if rounds:
            yield replace(story, rounds=rounds)
    for i, step in enumerate(story.rounds[:-1]):
        yield replace(story, first=step.content, rounds=story.rounds[i + 1 :])
    for i, step in enumerate(story.rounds):
        if step.noise:
            quiet = replace(step, noise=False)
            yield replace(story, rounds=(*story.rounds[:i], quiet, *story.rounds[i + 1 :]))


def _fewer_rows(story: Story) -> Iterator[Story]:
    """Without one row: everywhere, or at one version only."""
    versions = [story.first, *(r.content for r in story.rounds)]
    for table in story.tables:
        everywhere = {row for content in versions for row in content[table.name]}
        for row in sorted(everywhere, key=repr):
            yield _with_versions(story, [_without(c, table.name, row) for c in versions])
    for table in story.tables:
        for i, content in enumerate(versions):
            for row in dict.fromkeys(content[table.name]):
                fewer = _without_one(content, table.name, row)
                yield _with_versions(story, [*versions[:i], fewer, *versions[i + 1 :]])


def _without(content: Content, name: str, row: tuple) -> Content:
    return {**content, name: [r for r in content[name] if r != row]}


def _without_one(content: Content, name: str, row: tuple) -> Content:
    rows = list(content[name])
    rows.remove(row)
    return {**content, name: rows}


def _with_versions(story: Story, versions: list[Content]) -> Story:
    rounds = tuple(
        Round((), content, r.noise) for r, content in zip(story.rounds, versions[1:], strict=True)
    )
    return replace(story, first=versions[0], rounds=rounds)


def _narrower(case: Case) -> Iterator[Case]:
    """Without one table, without one column; the query must not need it."""
    story = case.story
    for table in story.tables:
        rest = tuple(t for t in story.tables if t is not table)
        if rest and table.name not in case.query.sql:
            yield replace(case, story=replace(story, tables=rest))
    for table in story.tables:
        for i, (name, _) in enumerate(table.columns):
            if f".{name}" in case.query.sql or len(table.columns) == 1:
                continue
            columns = (*table.columns[:i], *table.columns[i + 1 :])
            narrow = replace(table, columns=columns)
            tables = tuple(narrow if t is table else t for t in story.tables)
            versions = [
                {**c, table.name: [(*r[:i], *r[i + 1 :]) for r in c[table.name]]}
                for c in (story.first, *(r.content for r in story.rounds))
            ]
            yield replace(case, story=replace(_with_versions(story, versions), tables=tables))


def _shorter_queries(case: Case) -> Iterator[Case]:
    seen = {case.query.sql}
    for text in _shorter(case.query.sql):
        if text not in seen and len(text) < len(case.query.sql):
            seen.add(text)
            yield replace(case, query=replace(case.query, sql=text))


def _shorter(text: str) -> Iterator[str]:
    """The query with one part cut out or put in the place of what holds it."""
    tree = sqlglot.parse_one(text, read="spark")
    for number, node in enumerate(tree.walk()):
        for cut in _cuts(node):
            copy = tree.copy()
            made = cut(_nth(copy, number))
            whole = made if made is not None else copy
            yield whole.sql("spark")


def _nth(tree: exp.Expr, number: int) -> exp.Expr:
    return next(node for i, node in enumerate(tree.walk()) if i == number)


Cut = Callable[[exp.Expr], "exp.Expr | None"]


def _cuts(node: exp.Expr) -> Iterator[Cut]:
    if isinstance(node, exp.SetOperation):
        yield lambda n: _put(n, n.this)
        yield lambda n: _put(n, n.expression)
    if isinstance(node, exp.Select):
        yield from _select_cuts(node)
    is_value = isinstance(node, (exp.Condition, exp.Case))
    if is_value and not isinstance(node, (exp.Column, exp.Literal)):
        for i in range(len(_values(node))):
            yield lambda n, i=i: _put(n, _values(n)[i])


def _select_cuts(node: exp.Select) -> Iterator[Cut]:
    for part in ("where", "having", "qualify", "distinct", "order", "limit", "offset"):
        if node.args.get(part):
            yield lambda n, part=part: n.set(part, None)
    for i in range(len(node.expressions)):
        if len(node.expressions) > 1:
            yield lambda n, i=i: n.expressions[i].pop() and None
    for i in range(len(node.args.get("joins") or ())):
        yield lambda n, i=i: n.args["joins"][i].pop() and None


def _values(node: exp.Expr) -> list[exp.Expr]:
    return [child for child in node.iter_expressions() if isinstance(child, exp.Condition)]


def _put(node: exp.Expr, child: exp.Expr) -> exp.Expr | None:
    """The child in the place of its holder; the child itself when that was the whole query."""
    child = child.copy()
    if node.parent is None:
        return child
    node.replace(child)
    return None
