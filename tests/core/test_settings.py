"""Settings and the project file."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater import connect, project
from headwater.core.errors import InvalidOption, UnknownSetting
from headwater.settings import MOST, Settings, check, render_reference, resolve

# Names, defaults and ranges users of the original know: (default, least, most).
_KEPT = {
    "max_parallel_workers": (4, 0, 32),
    "max_dynamic_refresh_workers": (4, 1, 64),
    "per_hub_worker_quota": (0, 0, 64),
    "worker_pool_size": (0, 0, 64),
    "scheduler_interval_ms": (1000, 100, 600_000),
    "min_schedule_seconds": (1, 1, 86_400),
    "max_consecutive_errors": (3, 1, 100),
    "differential_max_change_ratio": (0.15, 0.0, 1.0),
    "prediction_window": (60, 5, 1440),
    "prediction_ratio": (1.5, 1.0, 10.0),
    "prediction_min_samples": (5, 0, 1000),
    "template_cache_max_entries": (256, 0, 65_536),
    "buffer_alert_threshold": (1_000_000, 1000, 100_000_000),
    "backpressure_consecutive_limit": (3, 0, 100),
    "drain_timeout": (60, 1, 3600),
    "max_fixpoint_iterations": (100, 1, 10_000),
    "fuse_default_ceiling": (0, 0, 2_000_000_000),
    "sla_window_hours": (24, 1, 8760),
    "schedule_recommendation_min_samples": (20, 1, 1000),
    "history_retention_days": (90, 0, 36_500),
}


@pytest.mark.parametrize("name", _KEPT)
def test_names_defaults_and_ranges_are_kept(name: str) -> None:
    default, least, most = _KEPT[name]
    assert getattr(Settings(), name) == default
    step = 0.001 if isinstance(default, float) else 1
    assert check(name, least) == (name, least)
    assert check(name, most) == (name, most)
    for outside in (least - step, most + step):
        with pytest.raises(UnknownSetting, match=f"{least:,} to {most:,}"):
            check(name, outside)


def test_words_are_kept() -> None:
    assert Settings().parallel_refresh_mode == "on"
    assert Settings().adaptive_batch_coalescing is True
    assert Settings().adaptive_merge_strategy is False
    assert Settings().cdc_trigger_mode == "statement"
    assert Settings().tick_watermark_enabled is True
    assert Settings().tiered_scheduling is True
    assert Settings().auto_backoff is True
    assert Settings().allow_circular is False
    assert Settings().enabled is True
    assert Settings().log_format == "text"
    with pytest.raises(UnknownSetting, match="dry_run"):
        check("parallel_refresh_mode", "perhaps")


def test_there_are_few_and_each_is_described() -> None:
    assert len(Settings.model_fields) <= MOST
    for name, info in Settings.model_fields.items():
        assert info.description, name
        assert info.description.endswith("."), name


def test_later_layers_win() -> None:
    layers = {
        "project": {"max_parallel_workers": 1, "prediction_ratio": 2, "log_format": "json"},
        "environ": {"HEADWATER_MAX_PARALLEL_WORKERS": "2", "HEADWATER_PREDICTION_RATIO": "3"},
        "stored": {"max_parallel_workers": 3},
    }
    assert resolve(environ={}).settings == Settings()
    resolved = resolve(**layers, call={"enabled": "off"})
    assert resolved.settings.max_parallel_workers == 3
    assert resolved.settings.prediction_ratio == 3.0
    assert resolved.settings.log_format == "json"
    assert resolved.settings.enabled is False
    assert resolved.origins == {
        "max_parallel_workers": "stored",
        "prediction_ratio": "environment",
        "log_format": "headwater.toml",
        "enabled": "call",
    }
    assert resolve(**layers, call={"max_parallel_workers": 4}).settings.max_parallel_workers == 4


def test_the_older_name_means_the_same_in_every_layer() -> None:
    environ = {"HEADWATER_MAX_CONCURRENT_REFRESHES": "9"}
    assert resolve(environ=environ).settings.max_parallel_workers == 9
    assert resolve(environ=environ, call={"max_parallel_workers": 1}).origins == {
        "max_parallel_workers": "call"
    }


@pytest.mark.parametrize(
    "layers",
    [
        {"project": {"max_paralel_workers": 1}},
        {"environ": {"HEADWATER_MAX_PARALEL_WORKERS": "1"}},
        {"stored": {"max_paralel_workers": 1}},
        {"call": {"max_paralel_workers": 1}},
    ],
)
def test_unknown_names_hint_at_the_nearest(layers: dict[str, dict[str, object]]) -> None:
    with pytest.raises(UnknownSetting, match="did you mean max_parallel_workers"):
        resolve(**{"environ": {}, **layers})  # type: ignore[arg-type]


def test_variables_that_are_addresses_are_left_alone() -> None:
    ours = {"HEADWATER_HUB": "./lake", "HEADWATER_JARS": "/jars", "HEADWATER_SPARK_MASTER": "local"}
    assert resolve(environ={"HOME": "/", **ours}).origins == {}


@pytest.mark.parametrize("name", ["catalog", "warehouse", "catalog_name"])
def test_places_of_the_project_file_are_no_variables(name: str) -> None:
    with pytest.raises(UnknownSetting, match=f"write {name} into headwater.toml"):
        resolve(environ={f"HEADWATER_{name.upper()}": "postgresql://x"})


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_parallel_workers", True), ("max_parallel_workers", "many"), ("prediction_ratio", "nan"),
     ("max_parallel_workers", 1.5), ("enabled", "perhaps"), ("publication_max_retention", "soon"),
     ("max_parallel_workers", None), ("log_format", 1)],
)  # fmt: skip
def test_values_that_cannot_be(name: str, value: object) -> None:
    with pytest.raises(UnknownSetting, match=f"{name} cannot be"):
        check(name, value)


def test_settings_do_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().enabled = False  # type: ignore[misc]


def test_the_reference_has_every_setting_once() -> None:
    text = render_reference()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(Settings.model_fields)
    assert (
        "| `scheduler_interval_ms` | `1000` | 100 to 600,000 | ms | Time between two ticks. |"
        in (rows)
    )


def _file(folder: Path, text: str) -> Path:
    path = folder / "headwater.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_project_file(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        """
        hub = "sales"
        catalog = "sqlite:///state/headwater.db"
        warehouse = "warehouse"
        catalog_name = "lake"
        [spark]
        "spark.master" = "local[2]"
        sql.shuffle.partitions = 4
        ui.enabled = false
        [settings]
        max_parallel_workers = 2
        """,
    )
    found = project.read(path)
    assert found.hub == "sales"
    assert found.catalog == f"sqlite:///{tmp_path}/state/headwater.db"
    assert found.warehouse == f"{tmp_path}/warehouse"
    assert found.catalog_name == "lake"
    assert found.spark == {
        "spark.master": "local[2]",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
    }
    assert resolve(project=found.settings, environ={}).settings.max_parallel_workers == 2


def test_an_empty_project_file_means_the_defaults(tmp_path: Path) -> None:
    found = project.read(_file(tmp_path, ""))
    assert found == project.Project(folder=tmp_path)


def test_addresses_elsewhere_stay_as_they_are(tmp_path: Path) -> None:
    text = 'catalog = "postgresql+psycopg://h/db"\nwarehouse = "s3a://bucket/x"\n'
    found = project.read(_file(tmp_path, text))
    assert (found.catalog, found.warehouse) == ("postgresql+psycopg://h/db", "s3a://bucket/x")
    absolute = project.read(_file(tmp_path, 'catalog = "sqlite:////var/lib/hw.db"'))
    assert absolute.catalog == "sqlite:////var/lib/hw.db"


def test_the_project_file_is_found_upward(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert project.find(below) is None
    path = _file(tmp_path, "")
    assert project.find(below) == path


def test_unknown_keys_of_the_project_file(tmp_path: Path) -> None:
    with pytest.raises(UnknownSetting, match="did you mean warehouse"):
        project.read(_file(tmp_path, 'warehose = "x"'))


@pytest.mark.parametrize("text", ["hub = ", "hub = 5", 'hub = ""', "spark = 3", "settings = []"])
def test_a_project_file_that_cannot_be(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidOption, match=r"headwater\.toml"):
        project.read(_file(tmp_path, text))


@pytest.mark.parametrize("schedule", ["30s", "* * * * *"])
def test_schedules_that_are_too_short_are_refused(tmp_path: Path, schedule: str) -> None:
    with connect(tmp_path, settings={"min_schedule_seconds": 90}) as hub:
        with pytest.raises(InvalidOption, match="min_schedule_seconds allows one every 1m30s"):
            hub.create_stream_table("t", "SELECT 1", schedule=schedule)
        assert hub.status() == ()
