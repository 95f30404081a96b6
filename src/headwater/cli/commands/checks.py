"""The checks of `doctor`: each looks at one thing and says OK, WARN or FAIL with the remedy.

None of them starts Spark; `try_spark` does, on request.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.core.errors import HeadwaterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headwater.hub import Hub
    from headwater.storage.lake import Lake

OLDEST_PYTHON = (3, 11)


@dataclass(frozen=True, slots=True)
class Check:
    """What one look found."""

    level: str
    what: str
    detail: str
    remedy: str = ""


def machine() -> Iterator[Check]:
    """Python, Java, PySpark and the jars."""
    for what, look in {
        "python": _python,
        "java": _java,
        "pyspark": _pyspark,
        "spark jars": _jars,
    }.items():
        yield _guarded(what, look)


def lake(where: Lake) -> Iterator[Check]:
    """The catalog database, the warehouse and the Iceberg catalog of one hub."""
    for what, look in {
        "catalog": partial(_catalog, where),
        "warehouse": partial(_warehouse, where),
        "iceberg catalog": partial(_iceberg, where),
    }.items():
        yield _guarded(what, look)


def try_spark(hub: Hub) -> Check:
    """Start Spark and run a query on the hub."""

    def look() -> Check:
        answer = hub.sql("SELECT count(*) FROM range(10)").collect()[0][0]
        if answer != 10:
            return Check("FAIL", "spark", f"a count of 10 rows gave {answer}")
        return Check("OK", "spark", "started and answered a query")

    return _guarded("spark", look)


def _guarded(what: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except HeadwaterError as error:
        return Check("FAIL", what, f"{error.code}: {error.what}", error.hint)
    except Exception as error:  # a check-up must come to its end
        return Check("FAIL", what, f"{type(error).__name__}: {error}")


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Check("FAIL", "python", version, "install Python 3.11 or newer")
    return Check("OK", "python", version)


def _java() -> Check:
    from headwater.storage.launch import check_java

    return Check("OK", "java", check_java())


def _pyspark() -> Check:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return Check("OK", "pyspark", version("pyspark"))
    except PackageNotFoundError:
        return Check("FAIL", "pyspark", "not installed", "pip install 'headwater[spark]'")


def _jars() -> Check:
    from headwater.storage.jars import jar_folder, local_jars

    found = local_jars()
    if found is None:
        return Check(
            "WARN",
            "spark jars",
            f"not all are in {jar_folder()}",
            "the first start of Spark fetches them; `headwater doctor --spark` does so now",
        )
    return Check("OK", "spark jars", f"{len(found)} in {jar_folder()}")


def _catalog(where: Lake) -> Check:
    from headwater.catalog.database import Database
    from headwater.catalog.schema import stored_revision
    from headwater.catalog.tables import HEAD

    database = Database(where.catalog_url, hub="doctor")
    engine = database.bare_engine()
    try:
        with engine.connect() as connection:
            revision = stored_revision(connection)
    finally:
        engine.dispose()
    if revision == HEAD:
        return Check("OK", "catalog", f"{database.url}, schema {revision}")
    if revision is None:
        return Check("WARN", "catalog", f"{database.url} is empty", "the first use of it fills it")
    if revision < HEAD:
        return Check(
            "WARN",
            "catalog",
            f"{database.url} has schema {revision}, this package has {HEAD}",
            "the next use of it migrates it; stop older versions of Headwater first",
        )
    return Check(
        "FAIL",
        "catalog",
        f"{database.url} has schema {revision}, newer than {HEAD}",
        "upgrade the headwater package",
    )


def _warehouse(where: Lake) -> Check:
    from headwater.sources.files import local_path

    path = local_path(where.warehouse)
    if path is None:
        return Check("OK", "warehouse", f"{where.warehouse} is remote and not tried")
    folder = Path(path)
    parent = next(p for p in (folder, *folder.parents) if p.exists())
    remedy = f"give this user the right to write {parent}"
    if not os.access(parent, os.W_OK | os.X_OK):
        return Check("FAIL", "warehouse", f"{folder} is not writable", remedy)
    if parent == folder:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"headwater")
    return Check("OK", "warehouse", f"{folder} is writable")


def _iceberg(where: Lake) -> Check:
    return Check("OK", "iceberg catalog", f"{len(_locations(where))} tables")


def _locations(where: Lake) -> dict[str, str]:
    from headwater.sources.database import open_database

    database = open_database(where.iceberg_url)
    try:
        if not database.columns("iceberg_tables"):
            return {}
        rows = database.fetch(
            "SELECT table_namespace, table_name, metadata_location FROM iceberg_tables "
            "WHERE catalog_name = ? AND metadata_location IS NOT NULL",
            (where.catalog,),
        )
    finally:
        database.close()
    return {f"{namespace}.{name}": location for namespace, name, location in rows}
