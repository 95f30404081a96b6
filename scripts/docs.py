"""Writes the generated pages and the generated parts of hand-written pages under docs/.

`--check` writes nothing and fails if a page is out of date. No Spark, no database.

A generated part stands between two comments of its page:

    <!-- generated: rule -->                     the docstring of the rule module of that name
    <!-- generated: sql delta orders=mixed -->   the delta of the page's example query
    <!-- generated: sql program -->              the whole program, every source with mixed changes
    <!-- generated: rules -->                    the table of rules
    <!-- generated: tables -->                   the source tables of the examples
    <!-- generated: calls -->                    the functions that CALL knows
    <!-- end -->
"""

import argparse
import difflib
import importlib
import inspect
import re
import sys
import textwrap
from pathlib import Path

from headwater import settings
from headwater.cli import reference
from headwater.commands import CALLABLE
from headwater.core import errors
from headwater.core.names import TableName
from headwater.delta import dispatch
from headwater.delta.apply.writing import Writing
from headwater.delta.change import Change
from headwater.delta.compile import compile_refresh
from headwater.delta.layout import layout
from headwater.delta.physical import physical
from headwater.sql.define import define
from headwater.sql.lookup import SourceField

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "src" / "headwater" / "delta" / "rules"

TABLES = {
    "orders": "id bigint, customer_id bigint, region string, amount decimal(10,2), "
    "placed_at timestamp, tags array<string>",
    "customers": "id bigint, name string, region string",
    "blocked": "customer_id bigint",
    "sales": "shop string, quarter string, amount bigint",
    "edges": "parent bigint, child bigint",
}
"""The sources that the example queries of the operator pages read."""

SQL_WORDS = {
    "Scan": "a table in `FROM`",
    "Values": "`VALUES`",
    "Filter": "`WHERE`, `HAVING`",
    "Project": "the `SELECT` list",
    "Join INNER": "`JOIN`, `CROSS JOIN`, comma",
    "Join LEFT": "`LEFT JOIN`",
    "Join RIGHT": "`RIGHT JOIN`",
    "Join FULL": "`FULL JOIN`",
    "Join SEMI": "`EXISTS`, `IN`, `LEFT SEMI JOIN`",
    "Join ANTI": "`NOT EXISTS`, `NOT IN`, `LEFT ANTI JOIN`",
    "Union": "`UNION ALL`",
    "SetOperation": "`INTERSECT`, `EXCEPT`, each with `ALL`",
    "Distinct": "`DISTINCT`, `UNION`",
    "Aggregate": "`GROUP BY`, `GROUPING SETS`, `ROLLUP`, `CUBE`",
    "Window": "`OVER (PARTITION BY …)`",
    "Limit": "`ORDER BY … LIMIT`, `OFFSET`",
    "Generate": "`LATERAL VIEW`, `explode`, `inline`, `stack`",
    "Reshape": "`PIVOT`, `UNPIVOT`",
    "Apply": "a subquery that is a value",
    "Lateral": "`LATERAL (SELECT …)`",
    "Recursive": "`WITH RECURSIVE`",
    "Reference": "the name of a recursion inside itself",
    "Opaque": "`TABLESAMPLE`, table functions",
}

SOMETIMES = {
    "Window": "with a shared `PARTITION BY`",
    "Limit": "with `ORDER BY`",
    "Recursive": "if the step is linear",
}
"""Operators whose rule does not cover every form."""

PART = re.compile(r"(<!-- generated: (\w+) ?([^>]*?) ?-->\n).*?(<!-- end -->)", re.DOTALL)
EXAMPLE = re.compile(r"## Example\n.*?```sql\n(.*?)```", re.DOTALL)
WIDTH = 100
NOTICE = "<!-- Written by scripts/docs.py; run `make docs` instead of editing. -->\n"


class ExampleTables:
    """Answers the compiler's questions about the example tables."""

    def __init__(self) -> None:
        self._fields = {
            TableName.parse(name): tuple(
                SourceField(*part.split(" ", 1)) for part in re.split(r", (?![^(<]*[)>])", text)
            )
            for name, text in TABLES.items()
        }

    def fields(self, table: TableName) -> tuple[SourceField, ...] | None:
        return self._fields.get(table)

    def view(self, name: TableName) -> None:
        return None

    def function(self, name: str) -> None:
        return None


def error_classes() -> list[type[errors.HeadwaterError]]:
    """Every error, by code."""
    found: list[type[errors.HeadwaterError]] = []
    waiting: list[type[errors.HeadwaterError]] = [errors.HeadwaterError]
    while waiting:
        kind = waiting.pop()
        found.append(kind)
        waiting.extend(k for k in kind.__subclasses__() if k.__module__ == errors.__name__)
    return sorted(found, key=lambda kind: kind.code)


def render_errors() -> str:
    """The error reference in Markdown."""
    lines = [
        "# Errors",
        "",
        "Every error is a `headwater.HeadwaterError`. It has a `code`, a `kind`, a `hint` that",
        "says what to do next and, for errors about SQL, a `place` in the text.",
        "",
        "| kind | who can act |",
        "|---|---|",
        "| `user` | the caller: change the query, the option or the set-up |",
        "| `schema` | the owner of a table: something on disk is not what it was |",
        "| `transient` | nobody: the same call may succeed later |",
        "| `bug` | the developers of Headwater: report it |",
        "",
        "| code | class | kind | summary |",
        "|---|---|---|---|",
    ]
    kinds = error_classes()
    lines += [f"| {k.code} | `{k.__name__}` | `{k.kind}` | {k.summary} |" for k in kinds]
    for kind in kinds:
        about = (inspect.getdoc(kind) or "").split("\n\n")[0]
        lines += ["", f"## {kind.code}", "", f"`{kind.__name__}`, {kind.kind}: {kind.summary}."]
        lines += ["", about, "", f"What to do: {kind.advice}."]
    return "\n".join(lines) + "\n"


def render_rules() -> str:
    """The table of delta rules, from the dispatch table."""
    lines = ["| operator | SQL | incremental | rule |", "|---|---|---|---|"]
    for node, rule in dispatch.RULES.items():
        if rule is dispatch._join:
            for kind, of_kind in dispatch._JOINS.items():
                lines.append(_rule_row(f"Join {kind.name}", of_kind))
        else:
            lines.append(_rule_row(node.__name__, rule))
    return "\n".join(lines)


def _rule_row(operator: str, rule: object) -> str:
    module = inspect.getmodule(rule)
    words = SQL_WORDS[operator].replace("|", "\\|")
    if module is None or ".rules." not in module.__name__:
        told = "yes: never changes" if operator == "Values" else "no: full refresh"
        return f"| {operator} | {words} | {told} | |"
    stem = module.__name__.rpartition(".")[2]
    return f"| {operator} | {words} | {SOMETIMES.get(operator, 'yes')} | [{stem}]({stem}.md) |"


def render_rule(stem: str) -> str:
    """Equation and argument of one rule, quoted from its module."""
    module = importlib.import_module(f"headwater.delta.rules.{stem}")
    equation, _, argument = (inspect.getdoc(module) or "").partition("\n\n")
    return f"```text\n{equation}\n```\n\n{argument}"


def render_sql(page: str, arguments: str) -> str:
    """The SQL that the example query of a page becomes."""
    example = EXAMPLE.search(page)
    if example is None:
        raise SystemExit("a page with generated SQL needs a query under '## Example'")
    form, *given = arguments.split()
    definition = define(example[1].strip(), ExampleTables())
    pairs = dict(word.split("=") for word in given)
    changed = {TableName.parse(name): Change[kind.upper()] for name, kind in pairs.items()}
    changed = changed or dict.fromkeys(definition.sources, Change.MIXED)
    names = ", ".join(f"{i} = {s}" for i, s in enumerate(definition.sources))
    lines = [f"-- sources: {names}"]
    if form == "delta":
        context = dispatch.differentiator(changed)
        tree = context.change(definition.tree).tree
        written = Writing(physical(definition), context, definition.sources).query(tree)
        stages, last = written.stages, f"-- delta\n{compact(written.sql)}"
    else:
        program = compile_refresh(definition, layout(definition), changed)
        stages = program.stages
        last = f"-- apply: {program.apply.value}\n{compact(program.statement)}"
    lines += [f"-- {stage.name}\n{compact(stage.sql)};" for stage in stages]
    text = "\n".join([*lines, last])
    return f"```sql\n{text}\n```"


def compact(sql: str) -> str:
    """Pretty-printed SQL with lists and short clauses put back on one line."""
    lines: list[str] = []
    for line in sql.splitlines():
        text = line.strip()
        before = lines[-1] if lines else ""
        opened = before.endswith(("SELECT", "SELECT DISTINCT", "GROUP BY", "WHERE", "(", ","))
        follows = opened or text.startswith(("ON ", "AND ", ")")) or text == "END"
        nests = before.endswith("(") and text.startswith(("SELECT", "WITH"))
        closes = text.startswith(")") and before.count("(") <= before.count(")")
        glue = "" if before.endswith("(") or text.startswith(")") else " "
        if before and follows and not nests and not closes:
            joined = before + glue + text
            if len(joined) <= WIDTH:
                lines[-1] = joined
                continue
        lines.append(line)
    return "\n".join(part for line in lines for part in wrapped(line))


def wrapped(line: str) -> list[str]:
    """A long line of SQL cut at its commas, outside of string literals."""
    pieces = re.findall(r"(?:'[^']*'|[^',]|,(?! \D))+(?:, |$)", line)
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    lines = [""]
    for piece in pieces:
        if lines[-1].strip() and len(lines[-1] + piece.rstrip()) > WIDTH:
            lines.append(indent)
        lines[-1] += piece
    return [text.rstrip() for text in lines]


def render_tables() -> str:
    """The source tables of the examples."""
    lines = ["| table | columns |", "|---|---|"]
    lines += [f"| `{name}` | `{columns}` |" for name, columns in TABLES.items()]
    return "\n".join(lines)


def render_calls() -> str:
    """The functions that CALL knows."""
    return textwrap.fill(", ".join(f"`{name}`" for name in CALLABLE) + ".", width=120)


def filled(path: Path) -> str:
    """A hand-written page with its generated parts written anew."""
    page = path.read_text(encoding="utf-8")

    def part(match: re.Match[str]) -> str:
        begin, what, arguments, end = match.groups()
        match what:
            case "rule":
                text = render_rule(path.stem)
            case "sql":
                text = render_sql(page, arguments)
            case "rules":
                text = render_rules()
            case "tables":
                text = render_tables()
            case "calls":
                text = render_calls()
            case _:
                raise SystemExit(f"{path}: unknown generated part {what!r}")
        return f"{begin}{text}\n{end}"

    return PART.sub(part, page)


def generated_pages() -> dict[Path, str]:
    """Every page this script writes, with its text."""
    docs = ROOT / "docs"
    pages = {
        docs / "settings.md": NOTICE + settings.render_reference(),
        docs / "cli.md": reference.render(),
        docs / "errors.md": NOTICE + render_errors(),
    }
    written = [docs / "sql.md", *sorted((docs / "operators").glob("*.md"))]
    return pages | {path: filled(path) for path in written}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if out of date")
    check = parser.parse_args(arguments).check
    stale = 0
    for path, text in generated_pages().items():
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if old == text:
            continue
        stale += 1
        name = path.relative_to(ROOT)
        if check:
            diff = difflib.unified_diff(old.splitlines(), text.splitlines(), lineterm="", n=0)
            print(f"{name} is out of date; run `make docs`", *list(diff)[2:12], sep="\n  ")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
