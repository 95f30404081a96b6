"""The `doctor` command: is everything here that Headwater needs, and if not, what to do."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.options import FormatOption, HubOption
from headwater.cli.reach import Reach
from headwater.cli.usage import WrongUsage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headwater.cli.commands.checks import Check

UNHEALTHY = 3


def doctor(
    ctx: typer.Context,
    spark: Annotated[
        bool, typer.Option("--spark", help="Also start Spark and run a query.")
    ] = False,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Check this machine and the hub.

    Each line begins with OK, WARN or FAIL and ends with the remedy. The exit code is 3 when
    one begins with FAIL.

    Example:
      headwater doctor
      headwater --hub ./lake doctor --spark
    """
    reach = Reach.of(ctx, hub, form)
    found: list[Check] = []
    for check in _checks(reach, spark):
        found.append(check)
        if reach.out.for_people:
            reach.out.check(check.level, check.what, check.detail, check.remedy)
    if not reach.out.for_people:
        reach.out.rows([asdict(check) for check in found], ["level", "what", "detail", "remedy"])
    if any(check.level == "FAIL" for check in found):
        raise typer.Exit(UNHEALTHY)


def _checks(reach: Reach, spark: bool) -> Iterator[Check]:
    from headwater.cli.commands import checks

    path = _hub_path(reach, needed=spark)
    yield from checks.machine()
    if path is None:
        remedy = "give --hub PATH, set HEADWATER_HUB, or run `headwater init`"
        yield checks.Check("WARN", "hub", "none is given", remedy)
        return
    yield checks.Check("OK", "hub", path)
    with reach.existing() as connection:
        yield from checks.lake(connection.lake)
        if spark:
            with reach.out.progress("Starting Spark …"):
                yield checks.try_spark(connection)


def _hub_path(reach: Reach, *, needed: bool) -> str | None:
    try:
        return reach.hub_path()
    except WrongUsage:
        if needed:
            raise
        return None
