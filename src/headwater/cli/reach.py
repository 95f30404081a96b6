"""From global options to an open hub: which one is meant, opened late and closed in the end."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.cli.output import Format, Output
from headwater.cli.usage import WrongUsage
from headwater.project import FILE_NAME, find

if TYPE_CHECKING:
    from collections.abc import Iterator

    import typer

    from headwater.hub import Hub


@dataclass(frozen=True, slots=True)
class Globals:
    """The options given before the command."""

    hub: str | None = None
    format: Format = Format.TABLE
    debug: bool = False


@dataclass(frozen=True, slots=True)
class Reach:
    """What a command works with: where the hub is, and where its output goes."""

    path: str | None
    out: Output

    @classmethod
    def of(cls, ctx: typer.Context, hub: str | None, form: Format | None) -> Reach:
        """Options after the command win over those before it."""
        given = ctx.obj if isinstance(ctx.obj, Globals) else Globals()
        return cls(hub or given.hub, Output(form or given.format))

    def hub_path(self) -> str:
        """The hub that is meant.

        Raises:
            WrongUsage: none is given and no project file is near.
        """
        if self.path is not None:
            inside = Path(self.path) / FILE_NAME
            return str(inside) if inside.is_file() else self.path
        near = find(Path.cwd())
        if near is not None:
            return str(near)
        raise WrongUsage(
            f"no hub: give --hub PATH, set HEADWATER_HUB, or run `headwater init` to make a "
            f"{FILE_NAME}"
        )

    @contextmanager
    def existing(self) -> Iterator[Hub]:
        """The open hub, which must be there: a mistyped path makes no hub."""
        path = self.hub_path()
        if not Path(path).exists():
            raise WrongUsage(f"there is no hub at {path}; `headwater init {path}` makes one")
        with _connect(path) as hub:
            yield hub

    @contextmanager
    def made_if_missing(self) -> Iterator[Hub]:
        """The open hub, for a command with which a hub may begin."""
        with _connect(self.hub_path()) as hub:
            yield hub


@contextmanager
def _connect(path: str) -> Iterator[Hub]:
    import headwater

    with headwater.connect(path) as hub:
        yield hub
