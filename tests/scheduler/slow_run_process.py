"""`headwater run` with refreshes that take a while and change nothing, in place of Spark.

Usage: slow_run_process.py SECONDS ARGUMENT...

Tells on standard output which stream table begins.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from headwater.cli.main import main
from headwater.scheduler import dispatcher
from headwater.scheduler.execute import UnitResult
from headwater.scheduler.tick_state import UnitRun

SECONDS = float(sys.argv.pop(1)) if __name__ == "__main__" else 0.0


def slowly(_: object, run: UnitRun, **__: Any) -> UnitResult:
    print(f"begins {run.members[0]}", flush=True)
    time.sleep(SECONDS)
    return UnitResult()


if __name__ == "__main__":
    dispatcher.run_unit = slowly
    main()
