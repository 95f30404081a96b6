"""The jars Spark needs: resolved once from Maven, later starts read the local copies."""

from __future__ import annotations

import fcntl
import os
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ICEBERG_VERSION = "1.12.0"
COORDINATES = (
    f"org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:{ICEBERG_VERSION}",
    "org.xerial:sqlite-jdbc:3.50.3.0",
    "org.postgresql:postgresql:42.7.7",
    "com.globalmentor:hadoop-bare-naked-local-fs:0.1.0",
)


def jar_folder() -> Path:
    """Where resolved jars are kept: `HEADWATER_JARS`, else a cache folder of the user."""
    explicit = os.environ.get("HEADWATER_JARS")
    if explicit:
        return Path(explicit)
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "headwater" / "ivy"


def local_jars() -> list[Path] | None:
    """The resolved jars, or None when one is missing or not whole."""
    folder = jar_folder() / "jars"
    found = []
    for coordinate in COORDINATES:
        group, artifact, version = coordinate.split(":")
        jar = folder / f"{group}_{artifact}-{version}.jar"
        if not zipfile.is_zipfile(jar):
            return None
        found.append(jar)
    return found


def jar_conf() -> dict[str, str]:
    """Spark settings that bring the jars: local files, or a first resolution over the network."""
    jars = local_jars()
    if jars is not None:
        return {"spark.jars": ",".join(str(jar) for jar in jars)}
    folder = jar_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return {"spark.jars.packages": ",".join(COORDINATES), "spark.jars.ivy": str(folder)}


@contextmanager
def resolution() -> Iterator[None]:
    """Around a start of Spark: of several first starts, one resolves and the others wait for it.

    Two that resolve at once write into each other's files. With all jars at hand nobody waits.
    """
    if local_jars() is not None:
        yield
        return
    folder = jar_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
