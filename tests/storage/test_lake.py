"""Settings that make a lake known to Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

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
