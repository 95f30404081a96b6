"""Prints the line coverage of the pure packages and fails below the mark."""

import json
import subprocess
import sys
from pathlib import Path

MARK = 90.0
PURE = ("core", "sql", "delta", "graph")
PURE_FILES = ("refresh/decide.py", "refresh/fill.py", "storage/head.py", "sources/window.py")


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
    print(f"Line coverage of the pure packages: {share:.1f} % (mark {MARK:.0f} %)")
    return 0 if share >= MARK else 1


if __name__ == "__main__":
    sys.exit(main())
