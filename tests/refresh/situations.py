"""Situations that tests of the decision begin with."""

from headwater.core.spec import RefreshMode
from headwater.refresh.decide import Situation, SourceChange

MB = 1_000_000
QUIET = SourceChange("default.src", "NONE", "none", "NO_CHANGES", "same version")
CHANGED = SourceChange("default.src", "APPEND", "append", "APPENDS", "appended", 10, 1_000_000)
CALM = Situation(
    mode=RefreshMode.AUTO,
    forced=False,
    populated=True,
    needs_reinit=None,
    foreign=None,
    definition_changed=False,
    incremental=True,
    obstacle=None,
    changes=(QUIET,),
)
