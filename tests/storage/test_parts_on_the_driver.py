"""Parts of a refresh that are computed once, and their values, which are fetched once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headwater.storage.shared import SharedParts, shared_parts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("tiny", [True, False])
def test_values_are_fetched_once_for_each_column(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tiny: bool
) -> None:
    asked: list[list[str]] = []
    real = SharedParts._fetched

    def counting(parts: SharedParts, name: str, columns: list[str]) -> Any:
        asked.append(columns)
        return real(parts, name, columns)

    monkeypatch.setattr(SharedParts, "_fetched", counting)
    with shared_parts(spark, small=True) as parts:
        parts.add("one", "SELECT id AS k, -id AS v FROM range(3)", tiny=tiny)
        parts.add("two", "SELECT CAST(NULL AS INT) AS k", tiny=tiny)
        assert parts.values("one", ["k"]) == {"k": {0, 1, 2}}
        assert parts.values("one", ["v", "k"]) == {"k": {0, 1, 2}, "v": {0, -1, -2}}
        assert parts.values("two", ["k"]) == {"k": {None}}
        assert parts.values("one", ["v", "k"]) == {"k": {0, 1, 2}, "v": {0, -1, -2}}
        assert parts.values("three", ["k"]) == {}
    assert asked == [["k"], ["v"], ["k"]]
