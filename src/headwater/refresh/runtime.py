"""What a hub works with, gathered once and handed to every step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from headwater.refresh.crowd import Crowd
from headwater.refresh.warmth import Warmth

if TYPE_CHECKING:
    from headwater.catalog.store import Store
    from headwater.observe.events import Events
    from headwater.refresh.scans import SharedScans
    from headwater.refresh.templates import Templates
    from headwater.sources.tables import TableCatalog
    from headwater.sql.lookup import FunctionFact
    from headwater.storage.lake import Lake
    from headwater.storage.spark import Engine


@dataclass(frozen=True)
class Runtime:
    """The parts of a hub.

    Attributes:
        lake: addresses.
        store: the hub's rows in the catalog database.
        tables: metadata of Iceberg tables, without Spark.
        engine: Spark, started when first needed.
        events: listeners.
        templates: compiled refreshes.
        clock: the current instant, in UTC.
        setting: the value of a setting by name.
        functions: registered user functions.
        warmth: which statements this process has run.
        crowd: the refreshes that run in this process at once.
        scans: change windows that the refreshes of one round share.
    """

    lake: Lake
    store: Store
    tables: TableCatalog
    engine: Engine
    events: Events
    templates: Templates
    clock: Callable[[], datetime]
    setting: Callable[[str], Any]
    functions: Mapping[str, FunctionFact] = field(default_factory=dict)
    warmth: Warmth = field(default_factory=Warmth)
    crowd: Crowd = field(default_factory=Crowd)
    scans: SharedScans | None = None
