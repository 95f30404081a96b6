"""Counts how often each operator occurred and how often its queries were incremental."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Cases by operator."""

    cases: int = 0
    incremental: int = 0
    seen: Counter = field(default_factory=Counter)
    full: Counter = field(default_factory=Counter)
    reasons: Counter = field(default_factory=Counter)

    def add(self, used: Iterable[str], reasons: tuple[str, ...]) -> None:
        self.cases += 1
        self.incremental += not reasons
        self.seen.update(used)
        if reasons:
            self.full.update(used)
            self.reasons.update(set(reasons))

    @property
    def share(self) -> float:
        """Incremental cases of all."""
        return self.incremental / self.cases

    def share_of(self, operator: str) -> float:
        """Incremental cases of those with an operator."""
        return 1 - self.full[operator] / max(self.seen[operator], 1)

    def frequency(self, operator: str) -> float:
        """Cases with an operator."""
        return self.seen[operator] / self.cases

    def lines(self, operators: Iterable[str]) -> list[str]:
        """A table for people."""
        head = f"{self.cases} generated queries, {self.share:.1%} incremental"
        why = ", ".join(f"{code} {n}" for code, n in self.reasons.most_common())
        rows = [
            f"  {name:<18} in {self.frequency(name):6.1%}, incremental {self.share_of(name):6.1%}"
            for name in operators
        ]
        return [head + (f" (full: {why})" if why else ""), *rows]
