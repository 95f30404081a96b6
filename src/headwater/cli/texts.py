"""SQL texts a command is given: an argument, a file or standard input, cut into statements."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.cli.usage import WrongUsage
from headwater.core.errors import HeadwaterError, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Script:
    """A text and where it came from."""

    text: str
    origin: str

    def statements(self) -> list[Piece]:
        """The statements of the text, each knowing its place in it."""
        from headwater.sql.statements import split_statements

        return [Piece(text, before, self) for text, before in split_statements(self.text)]


@dataclass(frozen=True, slots=True)
class Piece:
    """One statement of a script and the number of lines before it."""

    text: str
    lines_before: int
    script: Script

    def in_script(self, place: Place) -> Place:
        """A place in this statement as a place in the script."""
        return Place(place.line + self.lines_before, place.column)

    @contextmanager
    def located(self) -> Iterator[None]:
        """Move errors about this statement to their place in the script."""
        try:
            yield
        except HeadwaterError as error:
            if error.place is not None and error.sql in (None, self.text):
                error.place, error.sql = self.in_script(error.place), self.script.text
            raise


def read_script(text: str | None, file: Path | None, *, what: str) -> Script:
    """The SQL a command is to work on; exactly one of argument, file and standard input.

    Raises:
        WrongUsage: nothing is given, or two things are.
    """
    if text is not None and text != STDIN and file is not None:
        raise WrongUsage(f"give {what} as an argument or with --file, not both")
    if text is not None and text != STDIN:
        return Script(text, "the argument")
    if file is not None and str(file) != STDIN:
        return read_file(file)
    if text == STDIN or file is not None or not sys.stdin.isatty():
        return Script(sys.stdin.read(), "stdin")
    raise WrongUsage(f"give {what} as an argument, with --file, or on standard input")


def read_file(path: Path) -> Script:
    """The text of a file, or of standard input for `-`.

    Raises:
        WrongUsage: the file cannot be read.
    """
    if str(path) == STDIN:
        return Script(sys.stdin.read(), "stdin")
    try:
        return Script(path.read_text(encoding="utf-8-sig"), str(path))
    except OSError as error:
        raise WrongUsage(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise WrongUsage(f"cannot read {path}: it is not UTF-8 text") from None
