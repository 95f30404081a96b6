"""The command reference as Markdown, made from the commands; `docs/cli.md` is its output."""

from __future__ import annotations

from typing import Any

_HEAD = """# Command line

`headwater` works on one hub: `--hub PATH`, the variable `HEADWATER_HUB`, or the nearest
`headwater.toml` in this folder or above. `--hub` and `--format` may stand before or after the
command. Results go to standard output; progress, notes and errors go to standard error.

| exit code | meaning |
|---|---|
| 0 | ok |
| 1 | failed |
| 2 | wrong usage |
| 3 | stale or unhealthy |
"""


def render() -> str:
    """The whole reference page."""
    import typer

    from headwater.cli.main import app

    group: Any = typer.main.get_command(app)
    context = group.make_context("headwater", [], resilient_parsing=True)
    parts = [_HEAD, "## Global options\n", _options(group, context)]
    for name in group.list_commands(context):
        parts += _command(name, group.get_command(context, name), context)
    return "\n".join(parts).rstrip() + "\n"


def _command(name: str, command: Any, parent: Any) -> list[str]:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    prose, _, example = command.help.strip().partition("\b\nExample:\n")
    parts = [f"## headwater {name}\n", f"    headwater {name} {usage}\n", _prose(prose)]
    if example:
        lines = [line.strip() for line in example.strip().splitlines()]
        parts.append("Example:\n\n" + "\n".join(f"    {line}" for line in lines) + "\n")
    parts.append(_options(command, context))
    return parts


def _prose(text: str) -> str:
    paragraphs = text.strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs) + "\n"


def _options(command: Any, context: Any) -> str:
    rows = [found for p in command.get_params(context) if (found := p.get_help_record(context))]
    lines = ["| argument or option | meaning |", "|---|---|"]
    lines += [f"| `{_cell(name)}` | {_cell(meaning)} |" for name, meaning in rows]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
