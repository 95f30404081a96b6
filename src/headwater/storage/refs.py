"""Branch statements in Spark, for tables whose format PyIceberg cannot write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from headwater.core.names import TableName


@dataclass(frozen=True, slots=True)
class SparkRefs:
    """Moves branches through Spark.

    Attributes:
        run: runs one statement.
        catalog: Spark's name of the Iceberg catalog.
    """

    run: Callable[[str], object]
    catalog: str

    def create_branch(self, name: TableName, branch: str, *, snapshot_id: int) -> None:
        """Make a branch at a snapshot, unless it is there."""
        self.run(
            f"ALTER TABLE {name.sql(self.catalog)} CREATE BRANCH IF NOT EXISTS `{branch}` "
            f"AS OF VERSION {snapshot_id}"
        )

    def fast_forward(self, name: TableName, branch: str) -> None:
        """Set main to a branch that stands on it; Iceberg refuses any other."""
        self.run(
            f"CALL `{self.catalog}`.system.fast_forward(table => '{name}', branch => 'main', "
            f"to => '{branch}')"
        )

    def drop_branch(self, name: TableName, branch: str) -> None:
        """Remove a branch if it is there."""
        self.run(f"ALTER TABLE {name.sql(self.catalog)} DROP BRANCH IF EXISTS `{branch}`")
