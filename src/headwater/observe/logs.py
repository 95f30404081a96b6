"""Events as log lines: text for people, JSON for programs; written to standard error."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headwater.observe.events import (
    BackpressureEvent,
    FuseEvent,
    LeaderEvent,
    RefreshEvent,
    RouteEvent,
    SlaBreachEvent,
    TickEvent,
    TierEvent,
    WarningEvent,
)

if TYPE_CHECKING:
    from headwater.observe.events import Event

_NAMES: dict[type, str] = {
    RefreshEvent: "refresh",
    TickEvent: "tick",
    TierEvent: "tier_changed",
    RouteEvent: "merge_route_changed",
    SlaBreachEvent: "predicted_sla_breach",
    FuseEvent: "fuse_blown",
    BackpressureEvent: "change_buffer_backpressure",
    LeaderEvent: "leader",
    WarningEvent: "warning",
}


def line(event: Event) -> tuple[str, dict[str, Any]] | None:
    """The name of an event and its fields; None for those that are no news."""
    name = _NAMES.get(type(event))
    if name is None:
        return None
    fields = {k: v for k, v in asdict(event).items() if v is not None and k != "name"}
    return name, fields


def configured(form: str) -> Any:
    """A logger that writes to standard error.

    Args:
        form: `text` or `json`.
    """
    import structlog

    renderer: Any = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    return structlog.get_logger("headwater")
