"""A process that refreshes one stream table and kills itself, or stops itself, at a given moment.

Usage: crash_worker.py CATALOG WAREHOUSE TABLE STAGE MOMENT SIGNAL [full]
"""

from __future__ import annotations

import os
import signal
import sys
import threading

import headwater
from headwater.observe.events import Event, StageEvent
from shared_spark import attach


def main() -> None:
    catalog, warehouse, table, stage, moment, signal_name, *rest = sys.argv[1:]
    spark = attach() if "PYSPARK_GATEWAY_PORT" in os.environ else None
    hub = headwater.connect(spark=spark, catalog=catalog, warehouse=warehouse)

    def listen(event: Event) -> None:
        if isinstance(event, StageEvent) and (event.stage, event.moment) == (stage, moment):
            print("reached", flush=True)
            # To this thread, which goes no further; a signal to the process may hit another.
            signal.pthread_kill(threading.get_ident(), getattr(signal, signal_name))

    hub.subscribe(listen)
    print("ready", flush=True)
    try:
        result = hub.refresh_stream_table(table, full="full" in rest)
        print(f"done {result.action} {result.reason_code}", flush=True)
    except headwater.HeadwaterError as error:
        print(f"refused {error.code} {error.what}", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
