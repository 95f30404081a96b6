"""What a user declares about a stream table, and the words for its states."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headwater.core.errors import InvalidOption
from headwater.core.names import TableName

DIAMOND_CONSISTENCIES = ("atomic", "none")
DIAMOND_POLICIES = ("fastest", "slowest")


class RefreshMode(StrEnum):
    """How a stream table may be refreshed."""

    AUTO = "AUTO"
    INCREMENTAL = "INCREMENTAL"
    STRICT = "INCREMENTAL STRICT"
    FULL = "FULL"
    IMMEDIATE = "IMMEDIATE"

    @classmethod
    def parse(cls, text: str) -> RefreshMode:
        """Read a mode; DIFFERENTIAL is another word for INCREMENTAL."""
        word = " ".join(str(text).upper().replace("_", " ").split())
        word = word.replace("DIFFERENTIAL", "INCREMENTAL")
        try:
            return cls(word)
        except ValueError:
            known = ", ".join(m.value for m in cls if m is not cls.IMMEDIATE)
            what = f"unknown refresh mode {text!r}"
            raise InvalidOption(what, hint=f"use one of {known}") from None


class Status(StrEnum):
    """Where a stream table is in its life."""

    INITIALIZING = "INITIALIZING"
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    ERROR = "ERROR"


class Tier(StrEnum):
    """How often the scheduler looks at a stream table."""

    HOT = "hot"
    WARM = "warm"
    COLD = "cold"
    FROZEN = "frozen"


class Action(StrEnum):
    """What a refresh did."""

    NO_DATA = "NO_DATA"
    INCREMENTAL = "INCREMENTAL"
    FULL = "FULL"
    REINITIALIZE = "REINITIALIZE"
    SKIPPED = "SKIPPED"


class ApplyKind(StrEnum):
    """How a refresh wrote its result."""

    APPEND = "append"
    MERGE = "merge"
    REPLACE_KEYS = "replace_keys"
    BAG = "bag"
    OVERWRITE = "overwrite"
    NONE = "none"


class Way(StrEnum):
    """How a MERGE found the files it rewrote; `refresh.routing` tells them apart."""

    SEEK = "seek"
    SWEEP = "sweep"
    TOLD = "told"


@dataclass(frozen=True, slots=True)
class StreamTableSpec:
    """The declaration of one stream table, validated by `check`."""

    name: TableName
    query: str
    schedule: str = "calculated"
    refresh_mode: RefreshMode = RefreshMode.AUTO
    sla: str | None = None
    tier: Tier | None = None
    unique_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()
    append_only: bool = False
    diamond_consistency: str = "atomic"
    diamond_schedule_policy: str = "fastest"
    comment: str | None = None
    tags: tuple[str, ...] = ()
