"""The settings of a hub: one typed model, four layers, one reference page made from it.

    headwater.toml  <  HEADWATER_<NAME>  <  stored with hub.set  <  call

Importing this module loads pydantic: import it where settings are needed, not at start-up.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from headwater.core.errors import InvalidOption, UnknownSetting
from headwater.core.schedule import format_duration, parse_duration
from headwater.core.spelling import nearest
from headwater.environment import PREFIX, settings_in
from headwater.project import KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic.fields import FieldInfo

MOST = 40
"""The number of settings may not grow beyond this: a good default beats a setting."""

ENVIRONMENT = "environment"
OLDER_NAMES = {"max_concurrent_refreshes": "max_parallel_workers"}


def _setting(
    default: Any,
    about: str,
    *,
    unit: str = "",
    least: float | None = None,
    most: float | None = None,
) -> Any:
    return Field(
        default,
        description=about,
        ge=least,
        le=most,
        json_schema_extra={"unit": unit},
        allow_inf_nan=False if isinstance(default, float) else None,
    )


class Settings(BaseModel):
    """Every setting, with its default. Frozen: a change makes a new value."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = _setting(True, "Whether the scheduler refreshes anything.")
    scheduler_interval_ms: int = _setting(
        1000, "Time between two ticks.", unit="ms", least=100, most=600_000
    )
    min_schedule_seconds: int = _setting(
        1, "Shortest schedule a stream table may have.", unit="s", least=1, most=86_400
    )
    max_consecutive_errors: int = _setting(
        3, "Failures in a row after which a stream table is suspended.", least=1, most=100
    )
    tick_watermark_enabled: bool = _setting(
        True, "Whether all refreshes of a tick read one version per source."
    )
    tiered_scheduling: bool = _setting(
        True, "Whether warm and cold stream tables are looked at less often than hot ones."
    )
    auto_backoff: bool = _setting(
        True, "Whether a stream table slower than its schedule is asked for less often."
    )
    drain_timeout: int = _setting(
        60, "Time a stopping scheduler waits for running refreshes.", unit="s", least=1, most=3600
    )
    refresh_timeout: int = _setting(
        0, "Time after which a running refresh is cancelled and tried again; 0 never.",
        unit="s", least=0, most=86_400,
    )  # fmt: skip
    fuse_default_ceiling: int = _setting(
        0, "Pending changes at which a stream table stops and asks; 0 never.",
        unit="rows", least=0, most=2_000_000_000,
    )  # fmt: skip
    allow_circular: bool = _setting(False, "Whether stream tables may read each other in a circle.")
    max_fixpoint_iterations: int = _setting(
        100, "Rounds after which a circle that does not settle fails.", least=1, most=10_000
    )

    parallel_refresh_mode: Literal["off", "dry_run", "on"] = _setting(
        "on", "off: serial; dry_run: plan and log units, run serially; on: parallel."
    )
    max_parallel_workers: int = _setting(
        4, "Workers of this hub at once; 0 is serial.", unit="workers", least=0, most=32
    )
    max_dynamic_refresh_workers: int = _setting(
        4, "Workers of all hubs of the catalog at once.", unit="workers", least=1, most=64
    )
    per_hub_worker_quota: int = _setting(
        0, "Share of this hub in them; 0 is an equal share.", unit="workers", least=0, most=64
    )
    worker_pool_size: int = _setting(
        0, "Workers that stay when idle; 0 ends them.", unit="workers", least=0, most=64
    )

    worker_kind: Literal["thread", "process"] = _setting(
        "thread", "Workers are threads, or processes that share a Spark Connect server."
    )
    spark_connect_url: str = _setting(
        "", "Spark Connect server that worker processes use; without one the scheduler starts it."
    )

    differential_max_change_ratio: float = _setting(
        0.15, "Part of a source that may change before a full refresh is chosen, "
        "while there are too few samples to predict.", least=0.0, most=1.0,
    )  # fmt: skip
    prediction_window: int = _setting(
        60, "How far back the cost model looks.", unit="min", least=5, most=1440
    )
    prediction_ratio: float = _setting(
        1.5, "Predicted cost over the cost of a full refresh that makes it full.",
        least=1.0, most=10.0,
    )  # fmt: skip
    prediction_min_samples: int = _setting(
        5, "Refreshes the cost model needs before it predicts; 0 never predicts.",
        unit="refreshes", least=0, most=1000,
    )  # fmt: skip
    adaptive_merge_strategy: bool = _setting(
        False, "Whether the kind of apply is chosen again from what the last one cost."
    )
    adaptive_batch_coalescing: bool = _setting(
        True, "Whether stream tables of one tick share the scan of a change window."
    )

    buffer_alert_threshold: int = _setting(
        1_000_000, "Pending changes of a source that count as pressure.",
        unit="rows", least=1000, most=100_000_000,
    )  # fmt: skip
    backpressure_consecutive_limit: int = _setting(
        3, "Ticks under pressure before an event is sent; 0 never sends it.",
        unit="ticks", least=0, most=100,
    )  # fmt: skip
    template_cache_max_entries: int = _setting(
        256, "Compiled templates kept in each process.", unit="templates", least=0, most=65_536
    )
    cdc_mode: Literal["auto", "trigger", "wal"] = _setting(
        "auto", "How changes of PostgreSQL sources are captured."
    )
    cdc_trigger_mode: Literal["statement", "row"] = _setting(
        "statement", "Triggers per statement or per row, where triggers capture."
    )

    publication_max_retention: str = _setting(
        "1w", "Longest time changes are kept for a subscriber that does not acknowledge."
    )
    publication_lag_warn_versions: int = _setting(
        0, "Unacknowledged versions that make a warning; 0 never warns.",
        unit="versions", least=0, most=1_000_000,
    )  # fmt: skip
    publication_lag_warn_bytes: int = _setting(
        0, "Unacknowledged bytes that make a warning; 0 never warns.",
        unit="bytes", least=0, most=2_147_483_647,
    )  # fmt: skip

    history_retention_days: int = _setting(
        90, "Age at which runs leave the history; 0 keeps them.", unit="days", least=0, most=36_500
    )
    sla_window_hours: int = _setting(
        24, "How far back the SLA summary looks.", unit="h", least=1, most=8760
    )
    schedule_recommendation_min_samples: int = _setting(
        20, "Refreshes needed before a schedule is recommended.",
        unit="refreshes", least=1, most=1000,
    )  # fmt: skip
    metrics_port: int = _setting(
        0, "Port of the Prometheus endpoint on this host; 0 opens none.", least=0, most=65_535
    )
    log_format: Literal["text", "json"] = _setting("text", "How log lines are written.")

    @field_validator("spark_connect_url")
    @classmethod
    def _address(cls, value: str) -> str:
        if value and not value.startswith("sc://"):
            raise ValueError("not an address of Spark Connect")
        return value

    @field_validator("publication_max_retention", mode="before")
    @classmethod
    def _duration(cls, value: object) -> str:
        try:
            return format_duration(parse_duration(value))  # type: ignore[arg-type]
        except InvalidOption as error:
            raise ValueError(error.what) from None


@dataclass(frozen=True, slots=True)
class Resolved:
    """Settings in force, and for each that is not a default the layer it came from."""

    settings: Settings
    origins: Mapping[str, str]


def resolve(
    *,
    project: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    stored: Mapping[str, Any] | None = None,
    call: Mapping[str, Any] | None = None,
) -> Resolved:
    """Put the layers together; a later one wins.

    Args:
        project: the `[settings]` table of `headwater.toml`.
        environ: environment variables; None reads those of the process.
        stored: what `hub.set` stored.
        call: what this call asks for.

    Raises:
        UnknownSetting: a name that does not exist, or a value it cannot have.
    """
    layers = (
        ("headwater.toml", project or {}),
        (ENVIRONMENT, settings_in(os.environ if environ is None else environ)),
        ("stored", stored or {}),
        ("call", call or {}),
    )
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, layer in layers:
        for given, raw in layer.items():
            name, value = check(given, raw, origin=origin)
            values[name], origins[name] = value, origin
    return Resolved(Settings.model_validate(values), origins)


def check(name: str, value: object, *, origin: str = "call") -> tuple[str, Any]:
    """The name in force and the value as its type, or the error that says what is wrong."""
    known = OLDER_NAMES.get(name, name)
    info = Settings.model_fields.get(known)
    if info is None:
        guess = nearest(name, [*Settings.model_fields, *OLDER_NAMES])
        hint = f"did you mean {guess}?" if guess else "see the settings reference for the names"
        if origin == ENVIRONMENT and name in KEYS:
            hint = f"write {name} into headwater.toml"
        raise UnknownSetting(f"{origin}: there is no setting {name!r}", hint=hint)
    if isinstance(value, str) and get_origin(info.annotation) is Literal:
        value = value.strip().lower()
    try:
        if isinstance(value, bool) and info.annotation is not bool:
            raise ValueError
        checked = Settings.model_validate({known: value})
    except (ValidationError, ValueError):
        raise UnknownSetting(
            f"{origin}: {name} cannot be {value!r}",
            hint=f"it is {_range(info)}; the default is {_shown(info.default)}",
        ) from None
    return known, getattr(checked, known)


def render_reference() -> str:
    """The settings reference in Markdown."""
    lines = [
        "# Settings",
        "",
        "Each setting can be written in the `[settings]` table of `headwater.toml`, given as the",
        f"environment variable `{PREFIX}<NAME>`, stored for all processes with",
        "`hub.set(name, value)`, or passed to a call. The later in this list wins. Unknown names",
        "are errors.",
        "",
        "| setting | default | values | unit | meaning |",
        "|---|---|---|---|---|",
    ]
    for name, info in Settings.model_fields.items():
        cells = (
            f"`{name}`",
            _shown(info.default),
            _range(info),
            _unit(info),
            info.description or "",
        )
        lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        "Older names: " + ", ".join(f"`{a}` is `{b}`" for a, b in OLDER_NAMES.items()),
        "",
    ]
    return "\n".join(lines)


def _range(info: FieldInfo) -> str:
    if get_origin(info.annotation) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(info.annotation))
    if info.annotation is bool:
        return "`true`, `false`"
    bounds = {type(part).__name__: part for part in info.metadata}
    if "Ge" in bounds and "Le" in bounds:
        return f"{bounds['Ge'].ge:,} to {bounds['Le'].le:,}"
    if info.default == "":
        return "an address like `sc://host:15002`"
    return "a duration like `12h`"


def _unit(info: FieldInfo) -> str:
    extra = info.json_schema_extra
    return str(extra.get("unit", "")) if isinstance(extra, dict) else ""


def _shown(value: object) -> str:
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"`{value}`"
