"""Writes the results of the benchmarks into docs/performance.md, with a picture for some.

    python scripts/bench_docs.py [--check]

Reads what the benchmarks left in `bench/results/`; a benchmark without a result is left out. Parts
of the page between `<!-- NAME -->` and `<!-- end of NAME -->` belong to this script. The same
results make the same page.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "performance.md"
PLOTS = ROOT / "docs" / "plots"

Told = Iterator[tuple[str, str, str]]
"""What was measured, the figure, the mark."""


def _ratio(value: float) -> str:
    return f"{value:.2f} ×"


def _share(text: str) -> str:
    return f"{float(text) * 100:g} %"


def _by_mark(result: dict[str, Any]) -> Told:
    for name, mark in result["marks"].items():
        yield name.replace("_", " "), _ratio(result["ratios"][name]), f"{mark:g} ×"


def _tpch(result: dict[str, Any]) -> Told:
    marks = result["marks"]
    for share, told in result["shares"].items():
        mark = marks["total"].get(share)
        figure = _ratio(told["total_ratio"])
        yield f"{_share(share)} changed, total", figure, f"{mark:g} ×" if mark else ""
        yield f"{_share(share)}, slowest query", _ratio(told["slowest"]), f"{marks['slowest']:g} ×"
    updates = result["random_updates"]
    if updates:
        share = _share(updates["share"])
        yield f"{share} random updates, total", _ratio(updates["total_ratio"]), ""
        yield f"{share} random updates, slowest", _ratio(updates["slowest"]), ""


def _peers(result: dict[str, Any]) -> Told:
    yield "all seven", _ratio(result["ratio"]), f"{result['mark']:g} ×"
    name, worst = max(result["ratios"].items(), key=lambda item: item[1])
    yield f"slowest, {name}", _ratio(worst), f"{result['mark']:g} ×"


def _pipelines(result: dict[str, Any]) -> Told:
    yield "times faster", _ratio(result["faster"]), f"≥ {result['mark']:g} ×"


def _growth(result: dict[str, Any]) -> Told:
    for shape, ratio in result["ratios"].items():
        yield f"{shape}, base × 16", _ratio(ratio), f"{result['mark']:g} ×"


def _maintenance(result: dict[str, Any]) -> Told:
    marks = result["marks"]
    yield "reading", _ratio(result["read_ratio"]), f"{marks['read']:g} ×"
    yield "refreshes at the end", _ratio(result["slower"]), f"{marks['slower']:g} ×"


def _choice(result: dict[str, Any]) -> Told:
    marks = result["marks"]
    low, high = marks["full_right"]
    yield "faster way taken", f"{result['right']:.1%}", f"≥ {marks['right']:.1%}"
    yield "over a perfect chooser", _ratio(result["total_over_perfect"]), f"{marks['total']:g} ×"
    yield "full was right", f"{result['full_right']:.0%}", f"{low:.0%} to {high:.0%}"


def _batching(result: dict[str, Any]) -> Told:
    yield "refreshes per second", _ratio(result["gain"]), f"≥ {result['mark']:g} ×"
    reads = result["reads_per_round"]["shared"]
    yield "reads of windows a round", ", ".join(map(str, reads)), str(result["sources"])


def _routing(result: dict[str, Any]) -> Told:
    for name, case in result["cases"].items():
        yield name.replace("_", " "), _ratio(case["ratio"]), ""
    yield "all", _ratio(result["ratio"]), f"{result['mark']:g} ×"


def _one(result: dict[str, Any]) -> Told:
    yield "", _ratio(result["ratio"]), f"{result['mark']:g} ×"


def _cache(result: dict[str, Any]) -> Told:
    yield "slowest hit", f"{max(result['l0_ms'].values()):.2f} ms", "1 ms"


def _idle(result: dict[str, Any]) -> Told:
    for tables, mark in result["marks_ms"].items():
        yield f"{tables} tables", f"{result['ticks'][tables]['median_ms']:.1f} ms", f"{mark:g} ms"


KNOWN: dict[str, Callable[[dict[str, Any]], Told]] = {
    "refresh_floor": _by_mark,
    "tpch": _tpch,
    "peers": _peers,
    "pipelines_peer": _pipelines,
    "pipeline": _one,
    "growth": _growth,
    "big_target": _by_mark,
    "maintenance": _maintenance,
    "width": _one,
    "choice": _choice,
    "batching": _batching,
    "routing": _routing,
    "cache": _cache,
    "idle_tick": _idle,
}


@dataclass(frozen=True)
class Bars:
    """A picture of horizontal bars, with the mark that they are measured by."""

    title: str
    unit: str
    bars: list[tuple[str, float, int]]
    mark: float | None = None

    def svg(self) -> str:
        """The picture; colours go by the number of a bar."""
        colours = ("#2b6cb0", "#a0aec0", "#dd6b20", "#38a169", "#805ad5", "#d53f8c")
        left, width, step, top = 190, 420, 22, 40
        most = max([value for _, value, _ in self.bars] + [self.mark or 0.0]) or 1.0
        height = top + step * len(self.bars) + 14
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" '
            f'viewBox="0 0 720 {height}" font-family="sans-serif" font-size="12">',
            f'<rect width="720" height="{height}" fill="#ffffff"/>',
            f'<text x="12" y="22" font-size="14" font-weight="bold">{escape(self.title)}</text>',
        ]
        for number, (label, value, kind) in enumerate(self.bars):
            y, long = top + step * number, width * value / most
            lines += [
                f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(label)}</text>',
                f'<rect x="{left}" y="{y}" width="{long:.1f}" height="{step - 6}" '
                f'fill="{colours[kind % len(colours)]}"/>',
                f'<text x="{left + long + 6:.1f}" y="{y + 13}">{value:.3g} {self.unit}</text>',
            ]
        if self.mark is not None:
            x = left + width * self.mark / most
            lines.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 6}" y2="{height - 10}" '
                'stroke="#c53030" stroke-dasharray="4 3"/>'
            )
        return "\n".join([*lines, "</svg>"]) + "\n"


def _plot_tpch(result: dict[str, Any]) -> Bars:
    bars = []
    for share, told in result["shares"].items():
        bars.append((f"{_share(share)}, all", told["total_ratio"], 0))
        bars.append((f"{_share(share)}, slowest query", told["slowest"], 1))
    return Bars("TPC-H: refresh over full recompute", "×", bars, 1.0)


def _plot_peers(result: dict[str, Any]) -> Bars:
    return Bars(
        "TPC-H: refresh over the expert's MERGE",
        "×",
        [(name, ratio, 0) for name, ratio in result["ratios"].items()],
        result["mark"],
    )


def _plot_pipelines(result: dict[str, Any]) -> Bars:
    bars = [("stream tables", result["refresh_ms"], 0), ("materialized views", result["run_ms"], 1)]
    return Bars("Declarative pipelines: one round of changes", "ms", bars)


def _plot_medians(title: str) -> Callable[[dict[str, Any]], Bars]:
    def plot(result: dict[str, Any]) -> Bars:
        names = list(result["medians_ms"])
        kinds = {kind: n for n, kind in enumerate(dict.fromkeys(n.split("_")[0] for n in names))}
        return Bars(
            title,
            "ms",
            [
                (n.replace("_", " × "), result["medians_ms"][n], kinds[n.split("_")[0]])
                for n in names
            ],
        )

    return plot


def _plot_choice(result: dict[str, Any]) -> Bars:
    bars = [
        ("AUTO", result["total_over_perfect"], 0),
        ("always the delta", result["always_delta_over_perfect"], 1),
        ("always full", result["always_full_over_perfect"], 1),
    ]
    return Bars("Choice: total time over a perfect chooser", "×", bars, result["marks"]["total"])


def _plot_profile(result: dict[str, Any]) -> Bars:
    bars = [
        (f"{what}: {part}", ms, number)
        for number, (what, parts) in enumerate(result["medians_ms"].items())
        for part, ms in parts.items()
    ]
    return Bars("Parts of a small refresh", "ms", bars)


def _plot_batching(result: dict[str, Any]) -> Bars:
    rates = result["refreshes_per_second"]
    bars = [("windows shared", rates["shared"], 0), ("each reads its own", rates["apart"], 1)]
    return Bars("Batching: refreshes per second", "/s", bars)


PICTURES: dict[str, Callable[[dict[str, Any]], Bars]] = {
    "profile": _plot_profile,
    "tpch": _plot_tpch,
    "peers": _plot_peers,
    "pipelines_peer": _plot_pipelines,
    "pipeline": _plot_medians("A day of the pipeline"),
    "growth": _plot_medians("Growth: refresh at base × 1, × 4, × 16"),
    "choice": _plot_choice,
    "batching": _plot_batching,
}

PARTS = {
    "control": "control: pin, window, decide, lock",
    "analyse": "analyse: the statement is parsed and resolved",
    "plan": "plan: Spark optimises, Iceberg plans the scans",
    "jobs": "jobs: rows are read, joined and written",
    "commit": "commit: manifests and metadata",
    "publish": "publish: main is moved, the run is recorded",
}


def results() -> dict[str, dict[str, Any]]:
    """The results there are, by name."""
    return {file.stem: json.loads(file.read_text()) for file in sorted(RESULTS.glob("*.json"))}


def profile_table(found: dict[str, dict[str, Any]]) -> str:
    columns = found["profile"]["medians_ms"]
    lines = [f"| part | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for part, text in PARTS.items():
        lines.append(f"| {text} | {' | '.join(f'{c[part]:.0f}' for c in columns.values())} |")
    return "\n".join(lines)


def results_table(found: dict[str, dict[str, Any]]) -> str:
    lines = ["| benchmark | what | measured | mark | met |", "|---|---|---|---|---|"]
    for name, told in KNOWN.items():
        if name not in found:
            continue
        for number, (what, figure, mark) in enumerate(told(found[name])):
            first = number == 0
            met = ("yes" if found[name]["passed"] else "no") if first else ""
            title = f"`{name}`" if first else ""
            lines.append(f"| {title} | {what} | {figure} | {mark} | {met} |")
    return "\n".join(lines)


def pictures(found: dict[str, dict[str, Any]]) -> dict[Path, str]:
    """The pictures by their files."""
    return {
        PLOTS / f"{name}.svg": plot(found[name]).svg()
        for name, plot in PICTURES.items()
        if name in found
    }


def generated() -> dict[Path, str]:
    """What this script writes, by file."""
    found = results()
    plots = pictures(found)
    shown = "\n\n".join(f"![{file.stem}](plots/{file.name})" for file in plots)
    page = PAGE.read_text(encoding="utf-8")
    for name, text in {
        "profile": profile_table(found),
        "results": f"{results_table(found)}\n\n{shown}",
    }.items():
        pattern = rf"(<!-- {name} -->\n).*?(\n<!-- end of {name} -->)"
        written = text.replace("\\", r"\\")
        page, times = re.subn(pattern, rf"\g<1>{written}\g<2>", page, flags=re.DOTALL)
        assert times == 1, f"{PAGE.name} has no place for {name}"
    return {PAGE: page, **plots}


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only tell what is out of date")
    check = parser.parse_args(given).check
    stale = 0
    for file, text in generated().items():
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if check:
            print(f"{file.relative_to(ROOT)} is out of date: run `make bench-docs`")
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
