"""Commands that keep a hub fast: `cache`."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.cli.options import FormatOption, HubOption
from headwater.cli.reach import Reach


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
    with reach.reading() as connection:
        if clear:
            removed = connection.clear_caches()
            reach.out.note(f"{removed} entries were removed from the catalog")
        stats = connection.cache_stats()
    reach.out.details(stats)
