"""Opens a hub: from a folder, a project file, or an existing Spark session and addresses."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater import project
from headwater.catalog.shared_cache import SharedCache
from headwater.catalog.store import DEFAULT_HUB, Store
from headwater.core.errors import InvalidOption
from headwater.environment import settings_in
from headwater.observe.events import Events
from headwater.refresh.runtime import Runtime
from headwater.refresh.templates import Templates
from headwater.sources.tables import JdbcTables
from headwater.storage.lake import Lake, cache_file
from headwater.storage.spark import Engine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from headwater.settings import Resolved
    from headwater.sql.lookup import FunctionFact

SETTINGS_SECONDS = 1.0
"""For how long stored settings are taken from memory."""


@dataclass(frozen=True, slots=True)
class SettingShown:
    """A setting as `hub.settings()` shows it."""

    value: Any
    source: str
    description: str


@dataclass
class LayeredSettings:
    """The settings in force: layers put together, stored ones read again after a while.

    What is stored is read at the first use: a command that needs no setting opens faster.
    """

    store: Store
    project: Mapping[str, Any]
    call: Mapping[str, Any]
    _resolved: Resolved | None = field(default=None, init=False)
    _read_at: float = field(default=0.0, init=False)

    def resolved(self, *, fresh: bool = False) -> Resolved:
        """All layers."""
        from headwater import settings

        now = time.monotonic()
        if self._resolved is None or fresh or now - self._read_at > SETTINGS_SECONDS:
            self._resolved = settings.resolve(
                project=self.project, stored=self.store.settings.all(), call=self.call
            )
            self._read_at = now
        return self._resolved

    def __call__(self, name: str) -> Any:
        """The value of one setting."""
        return getattr(self.resolved().settings, name)


def open_runtime(
    path: str | Path | None,
    *,
    spark: SparkSession | None,
    catalog: str | None,
    warehouse: str | None,
    hub: str | None,
    settings: Mapping[str, Any] | None,
) -> Runtime:
    """Put the parts of a hub together; nothing is started."""
    plan = _plan(path, catalog, warehouse)
    _check_layers(plan)
    lake = _lake(plan)
    return assemble(
        lake,
        hub=hub or plan.hub,
        project_settings=plan.settings,
        call_settings=_checked(settings or {}),
        engine=Engine(lake, given=spark),
    )


def assemble(
    lake: Lake,
    *,
    hub: str,
    project_settings: Mapping[str, Any],
    call_settings: Mapping[str, Any],
    engine: Engine,
) -> Runtime:
    """The parts of a hub whose addresses are known."""
    store = Store(lake.catalog_url, hub=hub)
    tables = JdbcTables(lake.iceberg_url, lake.catalog)
    _prepare(lake, tables)
    layered = LayeredSettings(store, project_settings, call_settings)
    functions: dict[str, FunctionFact] = {}
    return Runtime(
        lake=lake,
        store=store,
        tables=tables,
        engine=engine,
        events=Events(),
        templates=Templates(
            capacity=lambda: int(layered("template_cache_max_entries")),
            stored=store.templates,
            shared=SharedCache(cache_file(lake, store.hub)),
            hub=store.hub,
            is_private=lambda: bool(functions),
        ),
        clock=lambda: datetime.now(UTC),
        setting=layered,
        functions=functions,
    )


def read_again(runtime: Runtime) -> None:
    """See now what was stored by `hub.set`, here or in another process."""
    layered = runtime.setting
    if isinstance(layered, LayeredSettings):
        layered.resolved(fresh=True)


def shown_settings(runtime: Runtime) -> dict[str, SettingShown]:
    """Every setting with its origin."""
    from headwater.settings import Settings

    layered = runtime.setting
    assert isinstance(layered, LayeredSettings)
    resolved = layered.resolved(fresh=True)
    return {
        name: SettingShown(
            getattr(resolved.settings, name),
            resolved.origins.get(name, "default"),
            info.description or "",
        )
        for name, info in Settings.model_fields.items()
    }


def _check_layers(plan: project.Project) -> None:
    """Refuse wrong settings of the project file and the environment before anything is made."""
    if plan.settings or settings_in(os.environ):
        from headwater import settings

        settings.resolve(project=plan.settings)


def _checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the caller passed, checked."""
    if not settings:
        return {}
    from headwater.settings import check

    return dict(check(name, value) for name, value in settings.items())


def _plan(path: str | Path | None, catalog: str | None, warehouse: str | None) -> project.Project:
    if path is None:
        if catalog is None or warehouse is None:
            raise InvalidOption(
                "connect needs a place",
                hint="give a folder, a project file, or both catalog= and warehouse=",
            )
        return project.Project(Path.cwd(), DEFAULT_HUB, catalog, warehouse)
    if catalog is not None or warehouse is not None:
        raise InvalidOption(
            "a path and catalog= or warehouse= exclude each other",
            hint="put catalog and warehouse into the project file",
        )
    place = Path(path)
    if (place / project.FILE_NAME).is_file():
        place /= project.FILE_NAME
    if place.suffix == ".toml":
        return project.read(place)
    if place.exists() and not place.is_dir():
        raise InvalidOption(f"{place} is not a folder", hint="give a folder or a .toml file")
    return project.Project(place)


def _lake(plan: project.Project) -> Lake:
    if plan.catalog is None:
        lake = Lake.in_folder(plan.folder, plan.spark)
        warehouse = plan.warehouse or lake.warehouse
        return Lake(
            lake.catalog_url, lake.iceberg_url, warehouse, lake.spark_conf, plan.catalog_name
        )
    warehouse = plan.warehouse or str(plan.folder / "warehouse")
    lake = Lake.shared(plan.catalog, warehouse, plan.spark)
    return Lake(
        lake.catalog_url, lake.iceberg_url, lake.warehouse, lake.spark_conf, plan.catalog_name
    )


def _prepare(lake: Lake, tables: JdbcTables) -> None:
    """Make the folders and the tables of the Iceberg catalog, before two drivers race for it."""
    for url in (lake.catalog_url, lake.iceberg_url):
        if url.startswith("sqlite:///"):
            Path(url.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    if "://" not in lake.warehouse:
        Path(lake.warehouse).mkdir(parents=True, exist_ok=True)
    tables.create_schema()
