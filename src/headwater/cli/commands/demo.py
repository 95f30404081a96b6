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

_COMPARED = ("stream table", "done", "how", "added", "removed", "refresh ms", "full ms", "faster")


def demo(ctx: typer.Context, hub: HubOption = None) -> None:
    """Show stream tables at work on sample data.

    It takes a minute or two. Every refresh is compared with a full one measured in the same run.
    Without a hub everything happens in a temporary folder; with one, its namespace `demo` is made
    anew. The exit code is 1 when a stream table differs from its query in the end.

    Example:
      headwater demo
    """
    path = hub or (ctx.obj.hub if isinstance(ctx.obj, Globals) else None)
    with _folder(path) as where:
        reach = Reach(where, Output(Format.TABLE))
        with reach.made_if_missing() as connection:
            equal = Demo(connection, reach.out).run(path or "a temporary folder")
    if not equal:
        raise typer.Exit(1)


class Demo:
    """The sections of the demo, in order."""

    def __init__(self, hub: Hub, out: Output) -> None:
        self._hub = hub
        self._out = out

    def run(self, where: str) -> bool:
        """Run every section; whether all stream tables equal their queries."""
        begun = time.perf_counter()
        self._start(where)
        self._create_sources()
        self._create_stream_tables()
        full = self._refresh_fully()
        done = [self._round(changes, full) for changes in demo_data.ROUNDS]
        self._refresh_without_changes()
        self._show_result()
        equal = self._verify()
        self._sum_up(equal, done, full, time.perf_counter() - begun)
        return equal

    def _start(self, where: str) -> None:
        self._out.title(f"A hub in {where}")
        with self._timed("Spark", "started"):
            self._hub.sql(f"CREATE NAMESPACE IF NOT EXISTS {demo_data.NAMESPACE}").collect()

    def _create_sources(self) -> None:
        self._out.title("Two sources: Iceberg tables")
        for sample in reversed(demo_data.STREAM_TABLES):
            self._hub.sql(f"DROP STREAM TABLE IF EXISTS {sample.full_name} CASCADE")
        for name, statements in demo_data.SOURCES.items():
            with self._timed(name, f"{demo_data.SIZES[name]:,} rows"):
                for statement in statements:
                    self._hub.sql(statement).collect()

    def _create_stream_tables(self) -> None:
        self._out.title("Four stream tables: plain SQL, filled at once")
        for sample in demo_data.STREAM_TABLES:
            with self._timed(sample.name, sample.about):
                self._hub.sql(sample.statement).collect()
        self._out.line()
        for line in demo_data.SHOWN.statement.splitlines():
            self._out.line(f"  {line}")

    def _refresh_fully(self) -> list[RefreshResult]:
        self._out.title("What a full refresh costs, measured to compare with")
        results = []
        for sample in demo_data.STREAM_TABLES:
            with self._out.progress(f"{sample.name}: computing everything …"):
                done = self._hub.refresh_stream_table(sample.full_name, full=True)
            results.append(done)
            self._out.line(
                f"{sample.name:<16} {done.rows_inserted:>10,} rows {done.duration_ms:>10,.0f} ms"
            )
        return results

    def _round(self, changes: demo_data.Round, full: list[RefreshResult]) -> list[RefreshResult]:
        self._out.title(f"Refresh: {changes.title}")
        with self._out.progress("Changing the sources …"):
            for statement in changes.statements:
                self._hub.sql(statement).collect()
        done = []
        for sample in demo_data.STREAM_TABLES:
            with self._out.progress(f"Refreshing {sample.name} …"):
                done.append(self._hub.refresh_stream_table(sample.full_name))
        self._out.rows(map(_compared, done, full), _COMPARED)
        return done

    def _refresh_without_changes(self) -> None:
        self._out.title("Refresh when nothing changed")
        with self._out.progress("Refreshing …"):
            results = [
                self._hub.refresh_stream_table(sample.full_name)
                for sample in demo_data.STREAM_TABLES
            ]
        jobs = sum(result.spark_jobs for result in results)
        self._out.line(
            f"{len(results)} stream tables in {_total(results):.1f} ms, {jobs} Spark jobs"
        )

    def _show_result(self) -> None:
        self._out.title(f"{demo_data.STREAM_TABLES[-1].name}, ready to read")
        frame = self._hub.sql(demo_data.RESULT)
        self._out.frame(frame.columns, [list(row) for row in frame.collect()])

    def _verify(self) -> bool:
        self._out.title("Verify: is each stream table what its query gives?")
        reports = []
        for sample in demo_data.STREAM_TABLES:
            with self._out.progress(f"Verifying {sample.name} …"):
                report = self._hub.verify(sample.full_name)
            reports.append(report)
            self._out.check(
                "OK" if report.equal else "FAIL",
                sample.name,
                f"{report.missing} rows missing, {report.unexpected} unexpected",
            )
        return all(report.equal for report in reports)

    def _sum_up(
        self,
        equal: bool,
        done: list[list[RefreshResult]],
        full: list[RefreshResult],
        seconds: float,
    ) -> None:
        self._out.line()
        if equal:
            self._out.line("All four are exact.")
        else:
            self._out.line("A stream table is not what its query gives.")
        for number in demo_data.WARM:
            self._out.line(
                f"{demo_data.ROUNDS[number].title}: {_total(done[number]) / 1000:.1f} s in all, "
                f"full refreshes {_total(full) / 1000:.1f} s."
            )
        self._out.line(f"The demo took {seconds:.0f} s.")

    @contextmanager
    def _timed(self, name: str, what: str) -> Iterator[None]:
        begun = time.perf_counter()
        with self._out.progress(f"{name}: {what} …"):
            yield
        self._out.line(f"{name:<16} {what:<32} {time.perf_counter() - begun:5.1f} s")


def _compared(done: RefreshResult, full: RefreshResult) -> dict[str, object]:
    ratio = full.duration_ms / max(done.duration_ms, 0.001)
    return {
        "stream table": done.name.partition(".")[2],
        "done": done.action,
        "how": done.apply,
        "added": done.rows_inserted,
        "removed": done.rows_deleted,
        "refresh ms": round(done.duration_ms),
        "full ms": round(full.duration_ms),
        "faster": None if done.action == "NO_DATA" else round(ratio, 1),
    }


def _total(results: list[RefreshResult]) -> float:
    return sum(result.duration_ms for result in results)


@contextmanager
def _folder(path: str | None) -> Iterator[str]:
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="headwater-demo-", ignore_cleanup_errors=True) as made:
        yield made
