"""The tables of the catalog database, as they are after the newest migration.

Every row carries its hub: several hubs share one database. Documents are JSON text, read and
checked by `codec`. Timestamps are UTC: `timestamptz` in PostgreSQL, ISO text in SQLite. Indexes
are in `indexes`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    TIMESTAMP,
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine

HEAD = "0007"
"""The newest migration: what this package needs the database to be at."""

VERSION_TABLE = "hw_schema_version"

metadata = MetaData()


class Timestamp(TypeDecorator[object]):
    """An instant in UTC. Results stay raw: `codec.instant` reads and checks them."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the column type of the database."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(TIMESTAMP(timezone=True))
        return dialect.type_descriptor(Text())

    def process_bind_param(self, value: object, dialect: Dialect) -> object:
        """Send a fixed-width text where there is no type for instants: it sorts by time."""
        if isinstance(value, datetime) and dialect.name != "postgresql":
            return value.astimezone(UTC).isoformat(timespec="microseconds")
        return value


class Message(TypeDecorator[str]):
    """A text of any origin, e.g. an error of Spark, without what a database cannot store."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Replace NUL and halves of surrogate pairs."""
        if value is None:
            return None
        return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


class Flag(TypeDecorator[object]):
    """True or false. Results stay raw: SQLAlchemy would read any text as true."""

    impl = Boolean
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> None:
        """Leave the value to `codec`, which checks it."""


# SQLite numbers rows by itself only in a column declared INTEGER.
_Serial = BigInteger().with_variant(Integer(), "sqlite")


def _hub() -> Column[str]:
    return Column("hub", String(128), ForeignKey("hw_hubs.name"), nullable=False)


hubs = Table(
    "hw_hubs",
    metadata,
    Column("name", String(128), primary_key=True),
    Column("created_at", Timestamp, nullable=False),
)

meta = Table(
    "hw_meta",
    metadata,
    Column("hub", String(128), ForeignKey("hw_hubs.name"), primary_key=True),
    Column("generation", BigInteger, nullable=False),
    Column("package_version", String(64), nullable=False),
    Column("updated_at", Timestamp, nullable=False),
)

stream_tables = Table(
    "hw_stream_tables",
    metadata,
    Column("id", _Serial, primary_key=True, autoincrement=True),
    _hub(),
    Column("namespace", String(128), nullable=False),
    Column("name", String(128), nullable=False),
    Column("query", Text, nullable=False),
    Column("definition_hash", String(64), nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("schedule", String(128), nullable=False),
    Column("refresh_mode", String(32), nullable=False),
    Column("status", String(16), nullable=False),
    Column("tier", String(16)),
    Column("sla", String(64)),
    Column("freshness_deadline_ms", BigInteger),
    Column("unique_key", Text, nullable=False),
    Column("partition_by", Text, nullable=False),
    Column("append_only", Flag, nullable=False),
    Column("diamond_consistency", String(16), nullable=False),
    Column("diamond_schedule_policy", String(16), nullable=False),
    Column("comment", Text),
    Column("tags", Text, nullable=False),
    Column("incremental", Flag, nullable=False),
    Column("is_populated", Flag, nullable=False),
    Column("needs_reinit", Flag, nullable=False),
    Column("reinit_reason", Message),
    Column("consecutive_errors", Integer, nullable=False),
    Column("last_error_code", String(16)),
    Column("last_error_message", Message),
    Column("last_error_at", Timestamp),
    Column("data_timestamp", Timestamp),
    Column("last_refresh_at", Timestamp),
    Column("last_action", String(16)),
    Column("last_reason_code", String(64)),
    Column("last_reason", Message),
    Column("layout", Text, nullable=False),
    Column("columns", Text, nullable=False),
    Column("definition", Text, nullable=False),
    Column("frontier", Text),
    Column("frontier_head", BigInteger),
    Column("version", BigInteger),
    Column("created_at", Timestamp, nullable=False),
    Column("updated_at", Timestamp, nullable=False),
    Column("downstream_publication", String(300)),
    Column("sort_by", Text, nullable=False, server_default="[]"),
    UniqueConstraint("hub", "namespace", "name", name="hw_stream_tables_name"),
    sqlite_autoincrement=True,
)


def _stream_table(name: str = "stream_table_id") -> Column[int]:
    return Column(
        name, BigInteger, ForeignKey("hw_stream_tables.id", ondelete="CASCADE"), nullable=False
    )


dependencies = Table(
    "hw_dependencies",
    metadata,
    _hub(),
    _stream_table(),
    Column("source_namespace", String(128), nullable=False),
    Column("source_name", String(128), nullable=False),
    Column("source_type", String(16), nullable=False),
    Column("columns_used", Text, nullable=False),
    PrimaryKeyConstraint("stream_table_id", "source_namespace", "source_name"),
)

# A dropped stream table keeps its history: no foreign key to it.
history = Table(
    "hw_history",
    metadata,
    Column("seq", _Serial, primary_key=True, autoincrement=True),
    _hub(),
    Column("run_id", String(64), nullable=False, unique=True),
    Column("stream_table_id", BigInteger, nullable=False),
    Column("name", String(260), nullable=False),
    Column("status", String(16), nullable=False),
    Column("action", String(16)),
    Column("reason_code", String(64)),
    Column("reason", Message),
    Column("initiated_by", String(16), nullable=False),
    Column("started_at", Timestamp, nullable=False),
    Column("finished_at", Timestamp),
    Column("duration_ms", Double),
    Column("rows_inserted", BigInteger, nullable=False),
    Column("rows_deleted", BigInteger, nullable=False),
    Column("delta_rows", BigInteger, nullable=False),
    Column("spark_jobs", Integer, nullable=False),
    Column("apply", String(16)),
    Column("version", BigInteger),
    Column("parent_version", BigInteger),
    Column("frontier", Text),
    Column("strategy", Text),
    Column("error_code", String(16)),
    Column("error_message", Message),
    Column("tick", BigInteger),
    Column("repeats", BigInteger, nullable=False),
    Column("host", String(255), nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("process_started", String(128), nullable=False),
    sqlite_autoincrement=True,
)

settings = Table(
    "hw_settings",
    metadata,
    Column("hub", String(128), ForeignKey("hw_hubs.name"), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
    Column("updated_at", Timestamp, nullable=False),
)

jobs = Table(
    "hw_jobs",
    metadata,
    Column("job_id", _Serial, primary_key=True, autoincrement=True),
    _hub(),
    Column("dag_version", BigInteger, nullable=False),
    Column("unit_key", String(400), nullable=False),
    Column("unit_kind", String(32), nullable=False),
    Column("members", Text, nullable=False),
    Column("root_id", BigInteger),
    Column("status", String(32), nullable=False),
    Column("scheduler_pid", BigInteger, nullable=False),
    Column("worker_pid", BigInteger),
    Column("attempt_no", Integer, nullable=False),
    Column("enqueued_at", Timestamp, nullable=False),
    Column("started_at", Timestamp),
    Column("finished_at", Timestamp),
    Column("outcome_detail", Message),
    Column("retryable", Flag),
    Column("lease_owner", String(255)),
    Column("lease_token", BigInteger, nullable=False),
    Column("lease_expires_at", Timestamp),
    sqlite_autoincrement=True,
)

templates = Table(
    "hw_templates",
    metadata,
    _hub(),
    _stream_table(),
    Column("generation", BigInteger, nullable=False),
    Column("specialisation", String(255), nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    PrimaryKeyConstraint("stream_table_id", "generation", "specialisation"),
)

leases = Table(
    "hw_leases",
    metadata,
    Column("hub", String(128), ForeignKey("hw_hubs.name"), primary_key=True),
    Column("name", String(255), primary_key=True),
    Column("owner", String(255), nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("expires_at", Timestamp, nullable=False),
    Column("host", String(255), nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("process_started", String(128), nullable=False),
)

publish_intents = Table(
    "hw_publish_intents",
    metadata,
    Column("id", _Serial, primary_key=True, autoincrement=True),
    _hub(),
    Column("unit_key", String(400), nullable=False),
    Column("members", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("finished_at", Timestamp),
    sqlite_autoincrement=True,
)

batches = Table(
    "hw_batches",
    metadata,
    _hub(),
    Column("batch_id", String(64), primary_key=True),
    Column("opened_at", Timestamp, nullable=False),
    Column("host", String(255), nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("process_started", String(128), nullable=False),
)

costs = Table(
    "hw_costs",
    metadata,
    Column("id", _Serial, primary_key=True, autoincrement=True),
    _hub(),
    _stream_table(),
    Column("generation", BigInteger, nullable=False),
    Column("measured_at", Timestamp, nullable=False),
    Column("is_full", Flag, nullable=False),
    Column("reason_code", String(64), nullable=False),
    Column("specialisation", String(255), nullable=False),
    Column("apply", String(16), nullable=False),
    Column("way", String(16)),
    Column("files", BigInteger),
    Column("files_rewritten", BigInteger),
    Column("planned_bytes", BigInteger, nullable=False),
    Column("planned_rows", BigInteger),
    Column("delta_rows", BigInteger, nullable=False),
    Column("source_bytes", BigInteger, nullable=False),
    Column("warmth", Integer, nullable=False),
    Column("duration_ms", Double, nullable=False),
    Column("expected_incremental_ms", Double),
    Column("expected_full_ms", Double),
    sqlite_autoincrement=True,
)
