"""Checks file lengths, names, words that the glossary forbids, and that packages are documented."""

import re
import sys
from collections import Counter
from pathlib import Path

LIMITS = (("src", 400), ("tests", 800), ("bench", 400), ("scripts", 400))
BANNED_MODULES = {"utils", "helpers", "manager", "common", "misc"}
BANNED_TEXT = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def main() -> int:
    problems = []
    for folder, limit in LIMITS:
        for path in sorted(Path(folder).rglob("*.py")):
            text = path.read_text()
            lines = text.count("\n")
            if lines > limit:
                problems.append(f"{path}: {lines} lines, limit {limit}")
            if path.stem in BANNED_MODULES:
                problems.append(f"{path}: name says nothing")
            if folder == "src" and BANNED_TEXT.search(text):
                problems.append(f"{path}: unfinished place")
    tests = Counter(path.name for path in Path("tests").rglob("test_*.py"))
    problems.extend(
        f"tests: {count} files are named {name}; pytest takes one of them"
        for name, count in tests.items()
        if count > 1
    )
    architecture = Path("ARCHITECTURE.md").read_text() if Path("ARCHITECTURE.md").exists() else ""
    packages = sorted(
        p.name for p in Path("src/headwater").iterdir() if (p / "__init__.py").exists()
    )
    problems.extend(
        f"ARCHITECTURE.md does not mention {package}/"
        for package in packages
        if f"{package}/" not in architecture
    )
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
