"""Reads command-line values without pydantic, so that commands start in a third of the time.

typer checks every value with pydantic, and the import of that costs more than all else a reading
command does. Our parameters are texts, paths, whole numbers, flags and words of an enum; they are
read here. A parameter of another type is left to typer.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Iterable

_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


class QuickCommand(TyperCommand):
    """A command whose values are read here."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, each with its reader."""
        return _with_readers(super().get_params(ctx))


class QuickGroup(TyperGroup):
    """A group of commands whose global options are read here."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, each with its reader."""
        return _with_readers(super().get_params(ctx))


class Reader:
    """Turns what was written for one parameter into its value."""

    def __init__(self, kind: Any, least: float | None, is_list: bool) -> None:
        self._kind = kind
        self._least = least
        self._is_list = is_list

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value, as typer asks for it."""
        if value is None:
            return () if self._is_list else None
        try:
            return [self._one(v) for v in value] if self._is_list else self._one(value)
        except ValueError as error:
            raise typer.BadParameter(str(error), ctx=ctx, param=param) from None

    def _one(self, value: Any) -> Any:
        if isinstance(value, self._kind):
            return value
        if issubclass(self._kind, bool):
            return _flag(str(value))
        if issubclass(self._kind, Enum):
            return _word(self._kind, str(value))
        if issubclass(self._kind, int):
            return self._number(str(value))
        return self._kind(value)

    def _number(self, text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise ValueError(f"{text!r} is not a whole number.") from None
        if self._least is not None and number < self._least:
            raise ValueError(f"{number} is less than {self._least}.")
        return number


def _with_readers(params: Iterable[Any]) -> list[Any]:
    found = list(params)
    for param in found:
        descriptor = getattr(param, "type_descriptor", None)
        if descriptor is not None and getattr(param, "_runtime_param", param) is None:
            param._runtime_param = _reader(descriptor.annotation, param)
    return found


def _reader(annotation: Any, param: Any) -> Reader | None:
    is_list = get_origin(annotation) is list
    kind = get_args(annotation)[0] if is_list else annotation
    if isinstance(kind, type) and issubclass(kind, str | Path | int | Enum):
        return Reader(kind, getattr(param, "min", None), is_list)
    return None


def _flag(text: str) -> bool:
    try:
        return _FLAGS[text.strip().lower()]
    except KeyError:
        raise ValueError(f"{text!r} is neither true nor false.") from None


def _word(kind: type[Enum], text: str) -> Enum:
    for member in kind:
        if str(member.value).lower() == text.lower():
            return member
    known = ", ".join(str(member.value) for member in kind)
    raise ValueError(f"{text!r} is not one of {known}.")
