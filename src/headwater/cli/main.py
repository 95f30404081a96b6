"""The `headwater` command: global options, the list of commands, and errors turned into exit codes.

Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 stale or unhealthy.
"""

from __future__ import annotations

import atexit
import gc
import inspect
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.commands import act, define, demo, doctor, init, keep, read, schedule, script
from headwater.cli.options import FORMAT_HELP, HUB_HELP
from headwater.cli.output import Format, Output, show_error
from headwater.cli.quick import QuickCommand, QuickGroup
from headwater.cli.reach import Globals
from headwater.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

FAILED = 1
YOUNG_OBJECTS = 100_000
"""How many new objects wait for a collection; most of a short command's live to its end."""
_PASS_ON = (typer.Exit, typer.Abort, typer.TyperException, BrokenPipeError, EOFError)

HELP = """
Keep SQL results fresh: stream tables for Apache Spark and Apache Iceberg.

A stream table is a table defined by a query. When its sources change, Headwater works out what
changed in the result and writes only that.

\b
Example:
  headwater init shop
  headwater --hub shop sql "CREATE STREAM TABLE totals AS SELECT 1 AS one"
  headwater --hub shop refresh totals

Exit codes are 0 for success, 1 for a failure, 2 for wrong usage and 3 for stale or unhealthy.
"""


class CommandGroup(QuickGroup):
    """Runs a command; errors become messages on standard error and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except _PASS_ON:
                raise
            except Exception as error:
                if isinstance(ctx.obj, Globals) and ctx.obj.debug:
                    raise
                show_error(error)
        raise typer.Exit(FAILED)


app = typer.Typer(
    name="headwater",
    cls=CommandGroup,
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,  # rich costs more than the whole budget of --help
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        Output().line(f"headwater {__version__}")
        raise typer.Exit


@app.callback()
def globals_(
    ctx: typer.Context,
    hub: Annotated[
        str | None,
        typer.Option("--hub", envvar="HEADWATER_HUB", metavar="PATH", help=HUB_HELP),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help=FORMAT_HELP)] = Format.TABLE,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the whole traceback of a failure.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and stop.", is_eager=True, callback=_show_version
        ),
    ] = False,
) -> None:
    """Take the global options."""
    ctx.obj = Globals(hub, form, debug)


def help_text(command: Callable[..., None]) -> str:
    """The docstring of a command, its example kept line by line."""
    return (inspect.getdoc(command) or "").replace("\n\nExample:\n", "\n\n\b\nExample:\n")


COMMANDS: dict[str, Callable[..., None]] = {
    "init": init.init,
    "demo": demo.demo,
    "sql": script.sql,
    "create": define.create,
    "alter": define.alter,
    "drop": define.drop,
    "list": read.list_,
    "status": read.status,
    "refresh": act.refresh,
    "history": read.history,
    "explain": read.explain,
    "validate": script.validate,
    "verify": act.verify,
    "graph": schedule.graph,
    "run": schedule.run,
    "tick": schedule.tick,
    "health": schedule.health,
    "workers": schedule.workers,
    "jobs": schedule.jobs,
    "doctor": doctor.doctor,
    "settings": read.settings,
    "cache": keep.cache,
    "maintain": keep.maintain,
}
for name, command in COMMANDS.items():
    app.command(name, cls=QuickCommand, help=help_text(command))(command)


def main() -> None:
    """Entry point of the installed command.

    Looking for garbage as modules load, and once more at exit, is a third of a reading command.
    """
    gc.set_threshold(YOUNG_OBJECTS)
    atexit.register(gc.freeze)
    app(prog_name="headwater")


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if issubclass(category, UserWarning):
        Output().warn(str(message))


if __name__ == "__main__":
    main()
