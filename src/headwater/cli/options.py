"""Options and arguments that several commands share: each is declared once, here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.output import Format

HUB_HELP = (
    "The hub: a folder, or a project file headwater.toml. Without it the nearest headwater.toml "
    "in this folder or above is used."
)
FORMAT_HELP = "How results are written."

HubOption = Annotated[
    str | None,
    typer.Option("--hub", metavar="PATH", help="The hub; also before the command."),
]
FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="How results are written; also before the command."),
]
FileOption = Annotated[
    Path | None,
    typer.Option("--file", "-f", metavar="FILE", help="Read the SQL from a file; - is stdin."),
]
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="A stream table: name or namespace.name.")
]
OptionalName = Annotated[
    str | None, typer.Argument(metavar="NAME", help="One stream table; all without it.")
]
ScheduleOption = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="When to refresh: 5m, '0 6 * * *', @hourly, calculated."),
]
ModeOption = Annotated[
    str | None,
    typer.Option(
        "--refresh-mode",
        "--mode",
        metavar="MODE",
        help="AUTO, INCREMENTAL, INCREMENTAL STRICT or FULL; IMMEDIATE is not available yet.",
    ),
]
SlaOption = Annotated[
    str | None, typer.Option(metavar="TEXT", help="The freshness promised, such as '30 seconds'.")
]
TierOption = Annotated[str | None, typer.Option(metavar="TIER", help="hot, warm, cold or frozen.")]
UniqueKeyOption = Annotated[
    list[str] | None,
    typer.Option("--unique-key", metavar="COLUMN", help="A column of the key; repeat it."),
]
PartitionOption = Annotated[
    list[str] | None,
    typer.Option("--partition-by", metavar="COLUMN", help="A column or transform; repeat it."),
]
SortOption = Annotated[
    list[str] | None,
    typer.Option("--sort-by", metavar="COLUMN", help="A column rows are sorted by; repeat it."),
]
CommentOption = Annotated[str | None, typer.Option(metavar="TEXT", help="What the table is for.")]
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", metavar="WORD", help="A tag; repeat it.")
]
AppendOnlyOption = Annotated[
    bool | None,
    typer.Option(
        "--append-only/--no-append-only",
        help="Promise that the sources only ever gain rows.",
        show_default=False,
    ),
]
