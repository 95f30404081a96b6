"""Starts Spark for a lake: the settings it starts with, the check for Java, the first session."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.core.errors import SparkUnavailable
from headwater.sources.files import local_path
from headwater.storage.jars import jar_conf, resolution
from headwater.storage.jvm import LOGGING, start_jvm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from headwater.storage.lake import Lake

EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"

_START_SETTINGS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(min(4, os.cpu_count() or 2)),
    "spark.sql.codegen.cache.maxEntries": "2000",  # a refresh has dozens, and comes again
    "spark.sql.extensions": EXTENSIONS,
    # A task waits so long for the executor that has its rows. Spark's own three seconds, for each
    # stage, are longer than a small refresh takes.
    "spark.locality.wait": "100ms",
    "spark.scheduler.mode": "FAIR",  # small refreshes are not stuck behind the tasks of a large one
}


_CODE = "-XX:ReservedCodeCacheSize=512m"
"""Room for what the JVM compiles: when it is full, the JVM interprets everything from then on."""
_JAVA_OPTIONS = f"-Duser.timezone=UTC -XX:+UseParallelGC {_CODE} {LOGGING}"
_PLAN_HERE = "-Diceberg.scan.plan-in-worker-pool=false"
"""Scans are planned by the thread that asks. Iceberg looks for what its worker threads have found
every 10 ms, which is longer than it takes to read a manifest from a local disk."""


_GIB = 1024**3
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def driver_memory() -> str:
    """A quarter of the memory there is, from 1 to 8 GiB: in local mode the driver does the work."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        there = min(there, int(_CGROUP_LIMIT.read_text()))
    return f"{min(max(there // 4, _GIB), 8 * _GIB) // 1024**2}m"


def start_conf(lake: Lake) -> dict[str, str]:
    """The settings with which Spark starts for a lake; what the user gave comes last."""
    java = [_JAVA_OPTIONS, *([_PLAN_HERE] if local_path(lake.warehouse) is not None else [])]
    return {
        "spark.driver.extraJavaOptions": " ".join(java),
        "spark.driver.memory": driver_memory(),
        "spark.master": os.environ.get("HEADWATER_SPARK_MASTER", "local[*]"),
        "spark.app.name": "headwater",
        **_START_SETTINGS,
        **jar_conf(),
        **lake.catalog_conf(),
        **lake.spark_conf,
    }


def start_spark(lake: Lake) -> SparkSession:
    """Start Spark in this process."""
    check_java()
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkUnavailable(
            "pyspark is not installed", hint="pip install 'headwater[spark]'"
        ) from error
    try:
        with resolution():
            conf = start_conf(lake)
            start_jvm(conf)
        builder = SparkSession.builder
        for key, value in conf.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()
    except SparkUnavailable:
        raise
    except Exception as error:
        raise SparkUnavailable(
            f"Spark did not start: {first_line(error)}",
            hint="run `headwater doctor`; the first start needs the network to fetch the jars",
        ) from error


def check_java() -> str:
    """The version line of Java 17 or newer; an error that says how to get it otherwise."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(f"{home}/bin/java") if home else shutil.which("java")
    hint = (
        "install Java 17 or newer, e.g. `apt-get install openjdk-17-jre-headless`, or set JAVA_HOME"
    )
    if java is None:
        raise SparkUnavailable("Java is not installed", hint=hint)
    done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    told = (done.stderr or done.stdout).splitlines()
    line = next((text for text in told if ' version "' in text), "unknown version")
    digits = line.partition('"')[2].partition('"')[0].split(".")
    major = int(digits[0]) if digits and digits[0].isdigit() else 0
    if major < 17:
        raise SparkUnavailable(f"Java is too old: {line}", hint=hint)
    return line


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
