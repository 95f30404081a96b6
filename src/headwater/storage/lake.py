"""Where a hub keeps its tables: Spark catalog, warehouse, catalog database.

Pure description; `storage.spark` turns it into a running session.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote_plus

from sqlalchemy.engine import make_url

from headwater.core.errors import InvalidOption
from headwater.sources.files import local_path

if TYPE_CHECKING:
    from collections.abc import Mapping

SPARK_CATALOG = "hw"
ICEBERG_FILE = "iceberg.db"
HEADWATER_FILE = "headwater.db"
BARE_FILES = "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"


@dataclass(frozen=True, slots=True)
class Lake:
    """Addresses of one lake.

    Attributes:
        catalog_url: SQLAlchemy URL of the database with the `hw_*` tables.
        iceberg_url: SQLAlchemy URL of the database with `iceberg_tables`.
        warehouse: folder or URI under which table files live.
        spark_conf: settings passed on when Headwater starts Spark.
        catalog: name of the Spark catalog.
    """

    catalog_url: str
    iceberg_url: str
    warehouse: str
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    catalog: str = SPARK_CATALOG

    @classmethod
    def in_folder(cls, folder: Path, spark_conf: Mapping[str, str] | None = None) -> Lake:
        """A lake in one folder: two SQLite files and a local warehouse."""
        folder = folder.resolve()
        return cls(
            catalog_url=f"sqlite:///{folder / HEADWATER_FILE}",
            iceberg_url=f"sqlite:///{folder / ICEBERG_FILE}",
            warehouse=str(folder / "warehouse"),
            spark_conf=dict(spark_conf or {}),
        )

    @classmethod
    def shared(
        cls, catalog_url: str, warehouse: str, spark_conf: Mapping[str, str] | None = None
    ) -> Lake:
        """A lake whose catalogs live in one database."""
        url = make_url(catalog_url)
        iceberg = catalog_url
        if url.get_backend_name() == "sqlite":
            if not url.database:
                raise InvalidOption(
                    "an in-memory catalog cannot be shared with Spark",
                    hint="use sqlite:////path/to/headwater.db or a PostgreSQL URL",
                )
            iceberg = f"sqlite:///{Path(url.database).resolve().parent / ICEBERG_FILE}"
        return cls(catalog_url, iceberg, warehouse, dict(spark_conf or {}))

    def catalog_conf(self) -> dict[str, str]:
        """Spark settings that make the Iceberg catalog known to a session."""
        prefix = f"spark.sql.catalog.{self.catalog}"
        conf = {
            prefix: "org.apache.iceberg.spark.SparkCatalog",
            f"{prefix}.type": "jdbc",
            f"{prefix}.uri": self._jdbc_uri(),
            f"{prefix}.jdbc.schema-version": "V1",
            f"{prefix}.warehouse": self.warehouse,
            f"{prefix}.cache-enabled": "false",
        }
        url = make_url(self.iceberg_url)
        if url.username:
            conf[f"{prefix}.jdbc.user"] = url.username
        if url.password:
            conf[f"{prefix}.jdbc.password"] = str(url.password)
        return conf

    def refresh_conf(self, *, bare_files: bool) -> dict[str, str]:
        """The same for sessions that refresh.

        Args:
            bare_files: write files of a local warehouse without helper processes. Hadoop's own
                file system starts `chmod` for every file, and once more for a checksum file beside
                it: eight processes for one small commit.
        """
        conf = self.catalog_conf()
        if bare_files and local_path(self.warehouse) is not None:
            prefix = f"spark.sql.catalog.{self.catalog}.hadoop.fs.file.impl"
            conf[prefix] = BARE_FILES
            conf[f"{prefix}.disable.cache"] = "true"
        return conf

    def _jdbc_uri(self) -> str:
        url = make_url(self.iceberg_url)
        if url.get_backend_name() == "sqlite":
            return f"jdbc:sqlite:{url.database}?busy_timeout=30000"
        query = {k: v for k, v in url.query.items() if isinstance(v, str)}
        socket = query.pop("host", None)
        if socket and not url.host:
            raise InvalidOption(
                "the PostgreSQL URL uses a Unix socket, which Spark's driver cannot reach",
                hint="use host and port: postgresql+psycopg://user@127.0.0.1:5432/db",
            )
        options = "&".join(f"{quote_plus(k)}={quote_plus(v)}" for k, v in query.items())
        port = f":{url.port}" if url.port else ""
        return f"jdbc:postgresql://{url.host}{port}/{url.database}" + (
            f"?{options}" if options else ""
        )


def cache_file(lake: Lake, hub: str) -> Path:
    """Where processes of this host share what they compiled for a hub.

    Beside an embedded catalog, with the rights of its folder; else in the user's own cache folder:
    whoever can write it decides what refreshes run.
    """
    url = make_url(lake.catalog_url)
    name = f"{blake2b(f'{lake.catalog_url} {hub}'.encode(), digest_size=8).hexdigest()}.lmdb"
    if url.get_backend_name() == "sqlite" and url.database:
        return Path(url.database).resolve().parent / "cache" / name
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "headwater" / name
