"""Commands that keep a hub fast: `cache`, `maintain`."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.cli.options import FormatOption, HubOption, OptionalName
from headwater.cli.reach import Reach

_MAINTAIN = (
    "name",
    "files_before",
    "files_after",
    "bytes_after",
    "snapshots_before",
    "snapshots_after",
    "versions_expired",
    "staged_removed",
    "duration_ms",
    "reason",
)


def cache(
    ctx: typer.Context,
    clear: Annotated[
        bool, typer.Option("--clear", help="Empty the caches of all processes.")
    ] = False,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Show the caches of compiled refreshes, or empty them.

    L1 is the memory of a process, L0 a file that the processes of this host share, L2 the catalog.
    Hits are those of this process; sizes are what the caches hold.

    Example:
      headwater cache
      headwater cache --clear
    """
    reach = Reach.of(ctx, hub, form)
    with reach.existing() as connection:
        if clear:
            removed = connection.clear_caches()
            reach.out.note(f"{removed} entries were removed from the catalog")
        stats = connection.cache_stats()
    reach.out.details(stats)


def maintain(
    ctx: typer.Context,
    name: OptionalName = None,
    hub: HubOption = None,
    form: FormatOption = None,
) -> None:
    """Put small files of stream tables together and expire what nobody needs.

    Versions that other stream tables, or reads of several tables at once, still need stay, and so
    do the newest 20. Sources are never touched. Readers may go on meanwhile.

    Example:
      headwater maintain
      headwater maintain totals
    """
    reach = Reach.of(ctx, hub, form)
    with reach.existing() as connection, reach.out.progress("Maintaining …"):
        rows = connection.maintain(name)
    reach.out.rows(rows, _MAINTAIN, empty="there are no stream tables")
