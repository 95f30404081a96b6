"""The workloads run on the engine of the delta tests, which lies beside them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "delta"))
