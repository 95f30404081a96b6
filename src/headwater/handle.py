"""A handle on one stream table, returned by the calls that make or change one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headwater.core.results import RefreshResult, StatusRow, VerifyReport
    from headwater.hub import Hub


@dataclass(frozen=True)
class StreamTable:
    """A handle on one stream table."""

    name: str
    hub: Hub

    def refresh(self, *, full: bool = False, strict: bool | None = None) -> RefreshResult:
        """Refresh it."""
        return self.hub.refresh_stream_table(self.name, full=full, strict=strict)

    def table(self, *, version: int | None = None) -> DataFrame:
        """Its visible columns."""
        return self.hub.table(self.name, version=version)

    def status(self) -> StatusRow:
        """Its row of `status`."""
        return self.hub.status(self.name)[0]

    def verify(self) -> VerifyReport:
        """Compare it with its query at the recorded frontier."""
        return self.hub.verify(self.name)
