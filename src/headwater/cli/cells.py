"""Values → text for a table cell, a CSV field or a JSON document; used by `output` only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

Record = Mapping[str, Any]


def record(row: object) -> Record:
    """A result row as a mapping, nested values included."""
    if is_dataclass(row) and not isinstance(row, type):
        return asdict(row)
    if isinstance(row, Mapping):
        return row
    raise TypeError(f"not a result row: {type(row).__name__}")


def cell(value: object, *, key: str = "") -> str:
    """A value as people read it in a table.

    >>> cell(12345), cell(True), cell({"a": 1}), cell(None), cell(1.6, key="duration_ms")
    ('12345', 'yes', 'a=1', '', '2')
    """
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.0f}" if key.endswith("_ms") else f"{value:g}"
        case datetime():
            return _instant(value).strftime("%Y-%m-%d %H:%M:%S")
        case Mapping():
            return ", ".join(f"{k}={cell(v)}" for k, v in value.items())
        case str() | bytes() | bytearray():
            return " ".join(str(value).split()) if isinstance(value, str) else bytes(value).hex()
        case Sequence():
            return ", ".join(cell(v) for v in value)
        case _:
            return str(value)


def is_number(value: object) -> bool:
    """Whether a value is to be aligned as a number."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def field(value: object) -> str:
    """A value as a program reads it in CSV: ISO times, nested values as JSON, None as nothing."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case datetime():
            return value.isoformat()
        case Mapping() | list() | tuple():
            return to_json(value, indent=None)
        case _:
            return str(value)


def to_json(value: object, *, indent: int | None = 2) -> str:
    """A JSON text; what JSON has no word for is written as text."""
    import msgspec

    packed = msgspec.json.encode(_builtin(value), enc_hook=str)
    if indent is not None:
        packed = msgspec.json.format(packed, indent=indent)
    return packed.decode()


def _builtin(value: object) -> object:
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, Mapping):
        return {str(k): _builtin(v) for k, v in value.items()}
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, list | tuple):
        return [_builtin(v) for v in value]
    return value


def _instant(value: datetime) -> datetime:
    return value.astimezone(UTC) if value.tzinfo is not None else value
