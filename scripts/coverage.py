"""Prints the line coverage of the pure packages; fails below the mark or below the README's figure.

The README may state at most what was measured, rounded down to a tenth of a per cent.
"""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

MARK = 90.0
PURE = ("core", "sql", "delta", "graph")
PURE_FILES = (
    "refresh/cost.py",
    "refresh/decide.py",
    "refresh/fill.py",
    "storage/head.py",
    "sources/window.py",
    "scheduler/tick.py",
    "scheduler/tick_budget.py",
    "scheduler/tick_dispatch.py",
    "scheduler/tick_due.py",
    "scheduler/tick_pressure.py",
    "scheduler/tick_sla.py",
    "scheduler/tick_state.py",
)
STATED = re.compile(r"^Line coverage of the pure packages: (\d+\.\d) %$", re.MULTILINE)


def main() -> int:
    report = Path("build/coverage.json")
    subprocess.run([sys.executable, "-m", "coverage", "json", "-q", "-o", str(report)], check=True)
    files = json.loads(report.read_text())["files"]
    total = covered = 0
    rows = {}
    for path, data in files.items():
        inside = path.split("src/headwater/", 1)[-1]
        package = inside.split("/")[0]
        if package not in PURE and inside not in PURE_FILES:
            continue
        lines = data["summary"]["num_statements"]
        hit = data["summary"]["covered_lines"]
        total, covered = total + lines, covered + hit
        done = rows.setdefault(package, [0, 0])
        done[0] += lines
        done[1] += hit
    for package, (lines, hit) in sorted(rows.items()):
        print(f"  {package:<10} {100 * hit / lines:5.1f} % of {lines} lines")
    share = 100 * covered / total
    problems = judge(share, Path("README.md").read_text(encoding="utf-8"))
    print(f"Line coverage of the pure packages: {floor(share):.1f} % (mark {MARK:.0f} %)")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def floor(share: float) -> float:
    """Rounded down to a tenth, so that no figure promises more than there is."""
    return math.floor(share * 10 + 1e-9) / 10


def judge(share: float, readme: str) -> list[str]:
    """What is wrong with a measured share."""
    found = STATED.search(readme)
    problems = []
    if share < MARK:
        problems.append(f"coverage is below the mark of {MARK:.0f} %: test what is new")
    if found is None:
        problems.append("README.md does not state the coverage of the pure packages")
    elif float(found[1]) > floor(share):
        problems.append(f"README.md states {found[1]} %, measured is {floor(share):.1f} %")
    return problems


if __name__ == "__main__":
    sys.exit(main())
