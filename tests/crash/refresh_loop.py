"""A process that refreshes one stream table many times. Usage: CATALOG WAREHOUSE TABLE ROUNDS."""

from __future__ import annotations

import os
import sys

import headwater
from shared_spark import attach


def main() -> None:
    catalog, warehouse, table, rounds = sys.argv[1:]
    hub = headwater.connect(spark=attach(), catalog=catalog, warehouse=warehouse)
    for _ in range(int(rounds)):
        result = hub.refresh_stream_table(table)
        print(f"refreshed {result.action} {result.reason_code}", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
