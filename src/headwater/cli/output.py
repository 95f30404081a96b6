"""The only place that prints: rows, documents, lines, errors and progress.

Results go to standard output in the chosen format; progress, notes and errors go to standard error.
Colour and spinners appear on a terminal only, and so does rich: piped output needs no import of it.
"""

from __future__ import annotations

import csv
import os
import sys
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, TextIO

from headwater.cli.cells import cell, field, is_number, record, to_json
from headwater.core.errors import HeadwaterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console

_STYLES = {
    "OK": "green",
    "ACTIVE": "green",
    "INCREMENTAL": "green",
    "SUCCEEDED": "green",
    "NO_DATA": "dim",
    "SKIPPED": "yellow",
    "SUSPENDED": "yellow",
    "FULL": "yellow",
    "REINITIALIZE": "yellow",
    "WARN": "yellow",
    "FAIL": "red",
    "FAILED": "red",
    "ERROR": "red",
}


class Format(StrEnum):
    """How results are written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class Output:
    """Writes the results of one command in one format."""

    def __init__(self, form: Format = Format.TABLE) -> None:
        self.format = form

    @property
    def for_people(self) -> bool:
        """Whether the format is meant to be read by people."""
        return self.format is Format.TABLE

    def rows(self, rows: Iterable[object], columns: Sequence[str], *, empty: str = "") -> None:
        """Write rows: a table shows `columns`, JSON and CSV have every field of the rows."""
        records = [record(row) for row in rows]
        if self.format is Format.JSON:
            self.line(to_json(records))
        elif self.format is Format.CSV:
            names = list(dict.fromkeys(key for r in records for key in r)) or list(columns)
            self._csv(names, [[r.get(name) for name in names] for r in records])
        elif not records and empty:
            self.note(empty)
        else:
            self._table(columns, [[r.get(name) for name in columns] for r in records])

    def frame(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Write the rows of a query; two columns may have one name."""
        if self.format is Format.JSON:
            self.line(to_json([dict(zip(columns, row, strict=True)) for row in rows]))
        elif self.format is Format.CSV:
            self._csv(columns, rows)
        else:
            self._table(columns, rows)

    def details(self, row: object) -> None:
        """Write one row: field by field for people, else as `rows` does."""
        if not self.for_people:
            self.rows([row], [])
            return
        fields = record(row)
        width = max(map(len, fields), default=0)
        for name, value in fields.items():
            self.line(f"{name:<{width}}  {self._styled(cell(value, key=name))}".rstrip())

    def document(self, text: str, value: object) -> None:
        """Write a text for people, or the same as JSON (CSV has no documents: JSON as well)."""
        self.line(text if self.for_people else to_json(value))

    def line(self, text: str = "") -> None:
        """Write one line of the result."""
        _write(sys.stdout, text)

    def title(self, text: str) -> None:
        """Write a section title."""
        self.line()
        self.line(_styled(sys.stdout, text, "1"))
        self.line("─" * len(text))

    def check(self, level: str, what: str, detail: str, remedy: str = "") -> None:
        """Write one line of a check-up."""
        text = f"{self._styled(level)}{' ' * (5 - len(level))}{what:<16} {detail}"
        self.line(f"{text}. Do: {remedy}" if remedy else text)

    def note(self, text: str) -> None:
        """Write a remark to standard error."""
        _write(sys.stderr, _styled(sys.stderr, text, "2"))

    def warn(self, text: str) -> None:
        """Write a warning to standard error."""
        _write(sys.stderr, f"{_styled(sys.stderr, 'warning:', '33')} {text}")

    @contextmanager
    def progress(self, text: str) -> Iterator[Callable[[str], None]]:
        """Turn a spinner on standard error while the block runs; silent off a terminal.

        The block receives a call that changes the text.
        """
        if not sys.stderr.isatty():
            yield lambda _: None
            return
        with _console(sys.stderr).status(text) as status:
            yield status.update

    def _styled(self, word: str) -> str:
        code = _CODES.get(_STYLES.get(word, ""))
        return _styled(sys.stdout, word, code) if code else word

    def _csv(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([field(value) for value in row] for row in rows)

    def _table(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        cells = [[cell(v, key=c) for c, v in zip(columns, row, strict=True)] for row in rows]
        numeric = {i for i in range(len(columns)) if _is_numeric([row[i] for row in rows])}
        if sys.stdout.isatty():
            _rich_table(columns, cells, numeric)
            return
        widths = [max([len(name), *(len(r[i]) for r in cells)]) for i, name in enumerate(columns)]
        for row in [columns, ["-" * width for width in widths], *cells]:
            parts = [
                text.rjust(widths[i]) if i in numeric else text.ljust(widths[i])
                for i, text in enumerate(row)
            ]
            self.line("  ".join(parts).rstrip())


def show_error(error: Exception) -> None:
    """Write an error to standard error: code, message, place with caret, what to do."""
    if not isinstance(error, HeadwaterError):
        text = str(error).strip().splitlines() or [""]
        error = HeadwaterError(
            f"unexpected failure: {type(error).__name__}: {text[0]}".removesuffix(": "),
            hint="run it again as `headwater --debug …` and report what it prints",
        )
    head, *rest = str(error).splitlines()
    code, _, message = head.partition(": ")
    _write(sys.stderr, f"{_styled(sys.stderr, code, '31;1')}: {message}")
    for line in rest:
        _write(sys.stderr, line)


_CODES = {"green": "32", "yellow": "33", "red": "31", "dim": "2"}


def _styled(stream: TextIO, text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if _has_colour(stream) else text


def _has_colour(stream: TextIO) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text + "\n")
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
    stream.flush()


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    return Console(file=stream, highlight=False)


def _rich_table(columns: Sequence[str], cells: Sequence[Sequence[str]], numeric: set[int]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for i, name in enumerate(columns):
        table.add_column(name, justify="right" if i in numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(text, style=_STYLES.get(text, "")) for text in row))
    _console(sys.stdout).print(table)


def _is_numeric(values: Sequence[object]) -> bool:
    present = [v for v in values if v is not None]
    return bool(present) and all(is_number(v) for v in present)
