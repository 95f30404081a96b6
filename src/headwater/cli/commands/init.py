"""The `init` command: a folder with a project file whose settings are there as comments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.reach import Reach
from headwater.cli.usage import WrongUsage
from headwater.project import FILE_NAME

_PLACES = """\
# A Headwater project: commands in this folder and below it use this hub.
# Everything is optional; a line that is commented out shows the default.

# The name of the hub in the catalog database.
# hub = "default"

# The catalog database: SQLite here, or postgresql+psycopg://user@host/database
# catalog = "sqlite:///headwater.db"

# Where table files go: a folder or a URI such as s3a://bucket/path
# warehouse = "warehouse"

# The name of the Iceberg catalog in Spark SQL.
# catalog_name = "hw"

[spark]
# "spark.driver.memory" = "2g"

[settings]
"""


def init(
    ctx: typer.Context,
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="Where; this folder without it.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write the project file anew if it is there.")
    ] = False,
) -> None:
    """Make a project: a folder with the file headwater.toml.

    Commands in that folder and below it then find the hub by themselves.

    Example:
      headwater init shop
      cd shop && headwater list
    """
    reach = Reach.of(ctx, None, None)
    where = folder or Path(reach.path or ".")
    file = where / FILE_NAME if where.suffix != ".toml" else where
    if file.exists() and not force:
        raise WrongUsage(f"{file} is there already; --force writes it anew")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(project_text(), encoding="utf-8")
    except OSError as error:
        raise WrongUsage(f"cannot write {file}: {error.strerror or error}") from None
    reach.out.line(f"wrote {file}")
    reach.out.note(f"next: headwater --hub {file} sql \"SELECT 'hello' AS word\"")


def project_text() -> str:
    """A project file with every setting as a comment."""
    from headwater.settings import Settings

    lines = []
    for name, info in Settings.model_fields.items():
        lines += [f"# {info.description}", f"# {name} = {_toml(info.default)}"]
    return _PLACES + "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"'
        case _:
            return str(value)
