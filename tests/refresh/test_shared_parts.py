"""Parts of a refresh that are computed once: few rows on the driver, many in Spark, none at all."""

from __future__ import annotations

import pytest

import headwater
from headwater.storage.shared import SMALL_ROWS
from shared_spark import check, refresh

pytestmark = pytest.mark.spark


def test_few_many_and_no_rows(hub: headwater.Hub) -> None:
    rows = SMALL_ROWS + 500
    hub.sql("CREATE TABLE facts (id BIGINT, k BIGINT) USING iceberg")
    hub.sql(f"INSERT INTO facts SELECT id, id % 2 FROM range({2 * rows})")
    hub.sql("CREATE TABLE names (k BIGINT, name STRING) USING iceberg")
    hub.sql("INSERT INTO names VALUES (0, 'even'), (1, 'odd')")
    hub.create_stream_table("named", "SELECT f.id, n.name FROM facts f JOIN names n ON f.k = n.k")
    hub.sql("DELETE FROM facts WHERE id IN (3, 4)")
    few = refresh(hub, "named", strict=True)[0]
    assert (few.apply, few.rows_inserted, few.rows_deleted) == ("bag", 0, 2)
    hub.sql("UPDATE names SET name = 'uneven' WHERE k = 1")
    many = refresh(hub, "named", strict=True)[0]
    assert (many.apply, many.rows_inserted, many.rows_deleted) == ("bag", rows - 1, rows - 1)
    version = many.version
    hub.sql("DELETE FROM facts WHERE id = 5")
    hub.sql("INSERT INTO facts VALUES (5, 1)")
    none = hub.refresh_stream_table("named", strict=True)
    check(hub, "named")
    assert (none.reason_code, none.version, none.delta_rows) == ("EMPTY_DELTA", version, 0)
