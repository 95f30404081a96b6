"""Settings that make a lake known to Spark."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headwater.storage import launch
from headwater.storage.lake import BARE_FILES, Lake

FILES = "spark.sql.catalog.hw.hadoop.fs.file.impl"


def test_refreshes_write_local_files_without_helper_processes(tmp_path: Path) -> None:
    lake = Lake.in_folder(tmp_path)
    assert FILES not in lake.catalog_conf()
    assert lake.refresh_conf(bare_files=False) == lake.catalog_conf()
    conf = lake.refresh_conf(bare_files=True)
    assert conf[FILES] == BARE_FILES
    assert {k: v for k, v in conf.items() if not k.startswith(FILES)} == lake.catalog_conf()


@pytest.mark.parametrize("warehouse", ["s3a://bucket/lake", "hdfs://name/lake"])
def test_other_stores_are_left_alone(tmp_path: Path, warehouse: str) -> None:
    lake = Lake.shared(f"sqlite:///{tmp_path}/headwater.db", warehouse)
    assert lake.refresh_conf(bare_files=True) == lake.catalog_conf()


def test_spark_gets_a_share_of_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(launch, "_CGROUP_LIMIT", limit)
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 4 << 20}.get)
    assert launch.driver_memory() == "4096m"
    for text, expected in (("max", "4096m"), (str(8 << 30), "2048m"), (str(1 << 30), "1024m")):
        limit.write_text(text)
        assert launch.driver_memory() == expected
    conf = launch.start_conf(Lake.in_folder(tmp_path, spark_conf={"spark.driver.memory": "9g"}))
    assert conf["spark.driver.memory"] == "9g"


def test_tasks_hardly_wait_for_an_executor_unless_the_user_says_so(tmp_path: Path) -> None:
    wait = "spark.locality.wait"
    assert launch.start_conf(Lake.in_folder(tmp_path))[wait] == "100ms"
    assert launch.start_conf(Lake.in_folder(tmp_path, spark_conf={wait: "3s"}))[wait] == "3s"


def test_scans_of_local_files_are_planned_by_the_thread_that_asks(tmp_path: Path) -> None:
    options = "spark.driver.extraJavaOptions"
    here, there = Lake.in_folder(tmp_path), Lake.shared(f"sqlite:///{tmp_path}/h.db", "s3a://b/l")
    assert "plan-in-worker-pool=false" in launch.start_conf(here)[options]
    assert "plan-in-worker-pool" not in launch.start_conf(there)[options]
