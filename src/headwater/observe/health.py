"""The health of a hub as rows, from facts that others gathered. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.core.reports import HealthRow

OK, WARN, ERROR = "OK", "WARN", "ERROR"
MANY_QUEUED = 10
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Facts:
    """What the checks look at; the tuples hold names of stream tables."""

    scheduler_running: bool
    failing: tuple[str, ...] = ()
    suspended: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    needs_reinit: tuple[str, ...] = ()
    repeated_errors: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    growing: tuple[str, ...] = ()
    blown: tuple[str, ...] = ()
    parallel: bool = True
    active_workers: int = 0
    max_workers: int = 0
    queued_jobs: int = 0


def health(facts: Facts) -> tuple[HealthRow, ...]:
    """One row for each check."""
    running = facts.scheduler_running
    rows = [
        HealthRow(
            "scheduler_running",
            OK if running else WARN,
            "a scheduler leads the hub" if running else "no scheduler runs; start `headwater run`",
        ),
        _named("error_tables", (*facts.failing, *facts.suspended), ERROR, "failed or suspended"),
        _named("stale_tables", facts.stale, WARN, "behind for longer than they should be"),
        _named("needs_reinit", facts.needs_reinit, WARN, "to be built again"),
        _named("consecutive_errors", facts.repeated_errors, WARN, "failed at their last refresh"),
        _named("buffer_growth", facts.growing, WARN, "with many pending changes"),
        _named("fuse_blown", facts.blown, WARN, "stopped by their fuse; see reset_fuse"),
    ]
    if facts.unreadable:
        rows.append(_named("catalog_rows", facts.unreadable, ERROR, "with unreadable rows"))
    if facts.parallel:
        full = facts.active_workers >= facts.max_workers > 0
        used = f"{facts.active_workers} of {facts.max_workers} workers run"
        rows.append(HealthRow("worker_pool", WARN if full else OK, used))
        many = facts.queued_jobs > MANY_QUEUED
        rows.append(HealthRow("job_queue", WARN if many else OK, f"{facts.queued_jobs} jobs wait"))
    return tuple(rows)


def _named(check: str, names: tuple[str, ...], severity: str, what: str) -> HealthRow:
    if not names:
        return HealthRow(check, OK, f"no stream tables {what}")
    shown = ", ".join(sorted(names)[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return HealthRow(check, severity, f"{len(names)} {what}: {shown}{more}")
