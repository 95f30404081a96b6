"""The `demo` command: the whole story on sample data, from sources to verified stream tables."""

from __future__ import annotations

import tempfile
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from headwater.cli.commands import demo_data
from headwater.cli.options import HubOption
from headwater.cli.output import Format, Output
from headwater.cli.reach import Globals, Reach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headwater.core.results import RefreshResult
    from headwater.hub import Hub

_REFRESHED = (
    "name",
    "action",
    "reason_code",
    "rows_inserted",
    "rows_deleted",
    "delta_rows",
    "duration_ms",
)


def demo(ctx: typer.Context, hub: HubOption = None) -> None:
    """Show stream tables at work on sample data.

    It takes less than three minutes. Without a hub everything happens in a temporary folder; with
    one, its namespace `demo` is made anew. The exit code is 1 when a stream table differs from its
    query in the end.

    Example:
      headwater demo
    """
    path = hub or (ctx.obj.hub if isinstance(ctx.obj, Globals) else None)
    with _folder(path) as where:
        reach = Reach(where, Output(Format.TABLE))
        with reach.writing() as connection:
            equal = Demo(connection, reach.out).run(where)
    if not equal:
        raise typer.Exit(1)


class Demo:
    """The sections of the demo, in order."""

    def __init__(self, hub: Hub, out: Output) -> None:
        self._hub = hub
        self._out = out

    def run(self, where: str) -> bool:
        """Run every section; whether all stream tables equal their queries."""
        self._out.line("Headwater keeps the results of SQL queries fresh, and writes only changes.")
        self._start(where)
        self._create_sources()
        self._create_stream_tables()
        self._refresh(1, "Change the sources, refresh (first run: Spark warms up)")
        incremental = self._refresh(2, "Change the sources again, refresh")
        self._show_result()
        self._show_delta()
        self._refresh_without_changes()
        self._compare_with_full(incremental)
        return self._verify()

    def _start(self, where: str) -> None:
        self._out.title("Start a hub")
        self._out.line(f"folder   {where}")
        with self._timed("Spark    started"):
            self._hub.sql(f"CREATE NAMESPACE IF NOT EXISTS {demo_data.NAMESPACE}").collect()

    def _create_sources(self) -> None:
        self._out.title("Create two sources")
        for name, _, _ in reversed(demo_data.STREAM_TABLES):
            self._hub.sql(f"DROP STREAM TABLE IF EXISTS {demo_data.NAMESPACE}.{name} CASCADE")
        for name, statements in demo_data.SOURCES.items():
            with self._timed(f"{name:<16}"):
                for statement in statements:
                    self._hub.sql(statement).collect()
        self._out.line(f"{demo_data.ORDERS:,} orders of {demo_data.CUSTOMERS:,} customers")

    def _create_stream_tables(self) -> None:
        self._out.title("Create stream tables: plain SQL, filled at once")
        for name, description, statement in demo_data.STREAM_TABLES:
            with self._timed(f"{name:<16} {description:<40}"):
                self._hub.sql(statement).collect()
        self._out.line()
        self._out.line(demo_data.STREAM_TABLES[-1][2])

    def _refresh(self, number: int, title: str) -> list[RefreshResult]:
        self._out.title(title)
        changes = demo_data.changes(number)
        with self._timed(
            f"{len(changes)} statements insert, update and delete rows in both sources:"
        ):
            for statement in changes:
                self._hub.sql(statement).collect()
        self._out.line()
        with self._out.progress("Refreshing …"):
            results = self._hub.refresh("*")
        self._show(results)
        return results

    def _show_result(self) -> None:
        self._out.title("The result")
        frame = self._hub.sql(demo_data.RESULT)
        self._out.frame(frame.columns, [list(row) for row in frame.collect()])

    def _show_delta(self) -> None:
        self._out.title(f"How {demo_data.EXPLAINED} is refreshed: the delta as SQL")
        self._out.line(str(self._hub.explain(demo_data.EXPLAINED, what="delta")))

    def _refresh_without_changes(self) -> None:
        self._out.title("Refresh when nothing changed: no Spark job, milliseconds")
        self._show(self._hub.refresh("*"))

    def _compare_with_full(self, incremental: list[RefreshResult]) -> None:
        self._out.title("Against a full recompute")
        with self._out.progress("Recomputing everything …"):
            full = {result.name: result for result in self._hub.refresh("*", full=True)}
        rows = [
            {
                "name": result.name,
                "action": result.action,
                "refresh_ms": result.duration_ms,
                "full_ms": full[result.name].duration_ms,
                "ratio": f"{full[result.name].duration_ms / max(result.duration_ms, 0.001):.1f} x",
            }
            for result in incremental
            if result.name in full
        ]
        self._out.rows(rows, ["name", "action", "refresh_ms", "full_ms", "ratio"])

    def _verify(self) -> bool:
        self._out.title("Verify: every stream table equals its query")
        reports = []
        for name, _, _ in demo_data.STREAM_TABLES:
            with self._out.progress(f"Verifying {name} …"):
                reports.append(self._hub.verify(f"{demo_data.NAMESPACE}.{name}"))
        self._out.rows(reports, ["name", "equal", "missing", "unexpected"])
        return all(report.equal for report in reports)

    def _show(self, results: list[RefreshResult]) -> None:
        ours = [r for r in results if r.name.startswith(f"{demo_data.NAMESPACE}.")]
        self._out.rows(ours, _REFRESHED)

    @contextmanager
    def _timed(self, label: str) -> Iterator[None]:
        begun = time.perf_counter()
        with self._out.progress(label.strip()):
            yield
        self._out.line(f"{label} {(time.perf_counter() - begun) * 1000:7,.0f} ms")


@contextmanager
def _folder(path: str | None) -> Iterator[str]:
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="headwater-demo-", ignore_cleanup_errors=True) as made:
        yield made
