"""Values in and out of catalog rows; whatever cannot be read becomes `CatalogDamaged`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from headwater.core.errors import CatalogDamaged, HeadwaterError
from headwater.core.frontier import Frontier
from headwater.core.names import TableName

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from enum import StrEnum

E = TypeVar("E", bound="StrEnum")
T = TypeVar("T")

_STRINGS = msgspec.json.Decoder(tuple[str, ...])
_PAIRS = msgspec.json.Decoder(tuple[tuple[str, str], ...])
_OBJECT = msgspec.json.Decoder(dict[str, Any])
_OBJECTS = msgspec.json.Decoder(tuple[dict[str, str], ...])
_SHOWN = 80


def dump(value: object) -> str:
    """JSON text of a document."""
    return msgspec.json.encode(value).decode()


def instant_text(value: datetime) -> str:
    """The form in which SQLite keeps an instant: fixed width, so that it sorts by time."""
    return value.astimezone(UTC).isoformat(timespec="microseconds")


class Raw:
    """One row as the database gave it: every getter checks what it returns.

    `key` lists the columns by which an error names the row.
    """

    __slots__ = ("key", "table", "values")

    def __init__(self, table: str, columns: Iterable[str], row: Iterable[Any], key: str) -> None:
        self.table = table
        self.values: Mapping[str, Any] = dict(zip(columns, row, strict=True))
        self.key = key

    def damaged(self, column: str, expected: str) -> CatalogDamaged:
        """The error that names table, row and column."""
        value = repr(self.values[column])
        shown = value if len(value) <= _SHOWN else value[:_SHOWN] + "…"
        row = " ".join(f"{part}={self.values[part]!r}" for part in self.key.split())
        return CatalogDamaged(
            f"{self.table} row {row}: column {column} holds {shown}, not {expected}",
            hint="restore the row from a backup of the catalog, or drop and create the stream "
            "table again; the data of the tables is not affected",
        )

    def string(self, column: str) -> str:
        """A text that must be there."""
        value = self.values[column]
        if isinstance(value, str):
            return value
        raise self.damaged(column, "a text")

    def optional_string(self, column: str) -> str | None:
        """A text or nothing."""
        return None if self.values[column] is None else self.string(column)

    def integer(self, column: str) -> int:
        """A whole number that must be there."""
        value = self.values[column]
        if isinstance(value, int):
            return int(value)
        raise self.damaged(column, "a whole number")

    def optional_integer(self, column: str) -> int | None:
        """A whole number or nothing."""
        return None if self.values[column] is None else self.integer(column)

    def number(self, column: str) -> float | None:
        """A number or nothing."""
        value = self.values[column]
        if value is None or isinstance(value, int | float):
            return None if value is None else float(value)
        raise self.damaged(column, "a number")

    def boolean(self, column: str) -> bool:
        """True or false; SQLite keeps them as 1 and 0."""
        value = self.values[column]
        if value in (0, 1) and isinstance(value, int):
            return bool(value)
        raise self.damaged(column, "true or false")

    def optional_boolean(self, column: str) -> bool | None:
        """True, false or nothing."""
        return None if self.values[column] is None else self.boolean(column)

    def instant(self, column: str) -> datetime:
        """An instant in UTC that must be there."""
        value = self.values[column]
        try:
            parsed = value if isinstance(value, datetime) else datetime.fromisoformat(value)
            return parsed.astimezone(UTC)
        except (TypeError, ValueError, OverflowError):
            raise self.damaged(column, "a time") from None

    def optional_instant(self, column: str) -> datetime | None:
        """An instant or nothing."""
        return None if self.values[column] is None else self.instant(column)

    def choice(self, column: str, kind: type[E]) -> E:
        """One of the words of an enumeration."""
        try:
            return kind(self.values[column])
        except ValueError:
            raise self.damaged(column, f"one of {', '.join(kind)}") from None

    def optional_choice(self, column: str, kind: type[E]) -> E | None:
        """One of the words of an enumeration, or nothing."""
        return None if self.values[column] is None else self.choice(column, kind)

    def strings(self, column: str) -> tuple[str, ...]:
        """A JSON list of texts."""
        return self._document(column, _STRINGS, "a list of texts")

    def pairs(self, column: str) -> tuple[tuple[str, str], ...]:
        """A JSON list of pairs of texts."""
        return self._document(column, _PAIRS, "a list of pairs of texts")

    def mapping(self, column: str) -> dict[str, Any]:
        """A JSON object."""
        return self._document(column, _OBJECT, "a JSON object")

    def mappings(self, column: str) -> tuple[dict[str, str], ...]:
        """A JSON list of objects with texts; nothing counts as the empty list."""
        if self.values[column] is None:
            return ()
        return self._document(column, _OBJECTS, "a list of JSON objects")

    def frontier(self, column: str) -> Frontier | None:
        """A frontier or nothing."""
        if self.values[column] is None:
            return None
        try:
            return Frontier.from_json(self.string(column))
        except (msgspec.MsgspecError, ValueError, HeadwaterError):
            raise self.damaged(column, "a frontier") from None

    def table_name(self, namespace: str, name: str) -> TableName:
        """A table name out of its two columns."""
        return TableName(self.string(namespace), self.string(name))

    def _document(self, column: str, decoder: msgspec.json.Decoder[T], expected: str) -> T:
        try:
            return decoder.decode(self.string(column))
        except (msgspec.MsgspecError, ValueError):
            raise self.damaged(column, expected) from None
