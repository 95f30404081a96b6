"""Wrong usage: exit code 2 and a plain message, as the command line's own complaints have."""

from __future__ import annotations

import typer


class WrongUsage(typer.BadParameter):
    """The command cannot be run as it was written."""

    def format_message(self) -> str:
        """The message alone, without naming a parameter."""
        return self.message
