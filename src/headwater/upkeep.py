"""The calls of a hub about cost, caches and maintenance; `Hub` inherits them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.core.names import TableName

if TYPE_CHECKING:
    from headwater.core.figures import CacheStats, MaintenanceRow, RefreshStats, ThresholdAdvice
    from headwater.refresh.runtime import Runtime


class Upkeep:
    """How a hub stays fast, and how it shows that."""

    _runtime: Runtime

    def threshold_advice(self) -> tuple[ThresholdAdvice, ...]:
        """What the cost model knows of each stream table, and whether its last choice was right."""
        from headwater.refresh.advice import threshold_advice

        return threshold_advice(self._runtime)

    def refresh_stats(self) -> tuple[RefreshStats, ...]:
        """The refreshes of each stream table, summed up; starts no Spark."""
        from headwater.catalog.stats import refresh_stats

        return refresh_stats(self._runtime.store, self._runtime.clock())

    def cache_stats(self) -> CacheStats:
        """The caches of compiled refreshes: hits in this process, and what each level holds."""
        return self._runtime.templates.stats()

    def clear_caches(self) -> int:
        """Empty the caches of compiled refreshes on all levels; returns the entries in the catalog.

        Other processes of this host forget theirs at their next use.
        """
        return self._runtime.templates.clear()

    def maintain(self, name: str | None = None) -> tuple[MaintenanceRow, ...]:
        """Compact stream tables and expire snapshots that nobody needs; all of them without a name.

        Sources are never touched.
        """
        from headwater.refresh.maintain import maintain

        return maintain(self._runtime, None if name is None else TableName.parse(name))
