"""The environment variables of Headwater; settings among them are checked by `settings`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "HEADWATER_"

_PLACES = frozenset({"hub", "jars", "spark_master"})
"""Variables that say where things are, read by the command line and by what starts Spark."""


def settings_in(environ: Mapping[str, str]) -> dict[str, str]:
    """All variables of ours that are to be settings, by their name in lower case."""
    ours = {
        key.upper().removeprefix(PREFIX).lower(): value
        for key, value in environ.items()
        if key.upper().startswith(PREFIX)
    }
    return {name: value for name, value in ours.items() if name not in _PLACES}
