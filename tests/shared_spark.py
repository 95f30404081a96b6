"""One Spark for the whole test run: fixtures `spark` (session) and `hub` (function).

Other processes of a test attach to the same JVM: a process that dies leaves the JVM running, as a
cluster would.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headwater
from headwater.storage.lake import Lake
from headwater.storage.spark import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# Tests run each plan a few times: generating code for it would cost more than it saves.
# Long runs, and tests that start Spark themselves, do.
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="session")
def spark(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("spark")
    conf = {} if request.config.option.markexpr == "long" else INTERPRETED
    engine = Engine(Lake.in_folder(folder, {"spark.driver.memory": "3g", **conf}))
    yield engine.user
    engine.close()


@dataclass
class Place:
    """Where a hub lives, so that other processes can open it too."""

    folder: Path
    catalog: str

    @property
    def warehouse(self) -> str:
        return str(self.folder / "warehouse")

    def open(self, spark: SparkSession | None, **more: Any) -> headwater.Hub:
        return headwater.connect(
            spark=spark, catalog=self.catalog, warehouse=self.warehouse, **more
        )


def place_in(folder: Path) -> Place:
    return Place(folder, f"sqlite:///{folder / 'headwater.db'}")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    yield place_in(tmp_path)
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture
def hub(spark: SparkSession, place: Place) -> Iterator[headwater.Hub]:
    with place.open(spark) as opened:
        yield opened


def environment() -> dict[str, str]:
    """Environment in which another process finds the sources and the test modules."""
    here = Path(__file__).resolve().parent
    paths = [str(here.parent / "src"), str(here)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def gateway_environment(spark: SparkSession) -> dict[str, str]:
    """The same, attached to this JVM."""
    parameters = spark.sparkContext._gateway.gateway_parameters
    return {
        **environment(),
        "PYSPARK_GATEWAY_PORT": str(parameters.port),
        "PYSPARK_GATEWAY_SECRET": parameters.auth_token,
    }


def attach() -> SparkSession:
    """The session of the JVM named in the environment."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    gateway = launch_gateway()
    context = gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
    java = gateway.jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(context)
    return SparkSession(
        SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jconf=java.getConf()))
    )


def rows(hub: headwater.Hub, name: str) -> list[tuple[Any, ...]]:
    """The content of a table, sorted for comparison."""
    return sorted((tuple(r) for r in hub.table(name).collect()), key=repr)


def check(hub: headwater.Hub, *names: str) -> None:
    """Each stream table equals its query at the recorded frontier."""
    for name in names:
        report = hub.verify(name)
        assert report.equal, f"{name}: {report}"


def refresh(hub: headwater.Hub, *names: str, **options: Any) -> list[headwater.RefreshResult]:
    """Refresh and check each."""
    results = []
    for name in names:
        results.append(hub.refresh_stream_table(name, **options))
        check(hub, name)
    return results
