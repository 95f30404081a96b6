"""Numbers of a scheduler in the text format that Prometheus reads. Pure, apart from the lock."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

Labels = tuple[tuple[str, str], ...]

KNOWN: Mapping[str, tuple[str, str]] = {
    "headwater_source_pending_rows": ("gauge", "Changed rows that wait for the slowest reader."),
    "headwater_source_pressure_ticks": ("gauge", "Ticks in a row over buffer_alert_threshold."),
    "headwater_stream_tables": ("gauge", "Stream tables of the hub."),
    "headwater_queued_units": ("gauge", "Units that wait for a worker."),
    "headwater_running_units": ("gauge", "Units that run."),
    "headwater_ticks_total": ("counter", "Rounds of the scheduler."),
    "headwater_tick_seconds": ("gauge", "How long the last round took to decide."),
    "headwater_refreshes_total": ("counter", "Refreshes that ended, by action."),
    "headwater_refresh_failures_total": ("counter", "Refreshes that failed."),
}
"""Every metric, with its kind and meaning."""


@dataclass
class Metrics:
    """The numbers of one process."""

    hub: str
    _values: dict[str, dict[Labels, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def set(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        with self._lock:
            self._series(name)[_key(labels)] = value

    def replace(self, name: str, values: Mapping[str, float], label: str) -> None:
        """Set a gauge for each of these values of a label, and for no other."""
        with self._lock:
            series = self._series(name)
            series.clear()
            series.update({_key({label: key}): value for key, value in values.items()})

    def count(self, name: str, more: float = 1, **labels: str) -> None:
        """Move a counter on."""
        with self._lock:
            series = self._series(name)
            series[_key(labels)] = series.get(_key(labels), 0) + more

    def value(self, name: str, **labels: str) -> float | None:
        """The number as it is now."""
        with self._lock:
            return self._series(name).get(_key(labels))

    def text(self) -> str:
        """All numbers, as Prometheus reads them."""
        lines = []
        with self._lock:
            for name, (kind, meaning) in KNOWN.items():
                lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
                for labels, value in sorted(self._values.get(name, {}).items()):
                    shown = ",".join(
                        f'{k}="{_escaped(v)}"' for k, v in (("hub", self.hub), *labels)
                    )
                    lines.append(f"{name}{{{shown}}} {_number(value)}")
        return "\n".join(lines) + "\n"

    def _series(self, name: str) -> dict[Labels, float]:
        if name not in KNOWN:
            raise KeyError(name)
        return self._values.setdefault(name, {})


def _key(labels: Mapping[str, str]) -> Labels:
    return tuple(sorted(labels.items()))


def _number(value: float) -> str:
    """All digits: a counter of millions must be seen to move."""
    return str(int(value)) if value == int(value) else repr(value)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
