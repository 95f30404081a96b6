"""The tables of the scheduler in the catalog: its memory of stream tables, gates, groups, ticks."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from headwater.catalog.tables import Message, Timestamp, metadata

_Serial = BigInteger().with_variant(Integer(), "sqlite")


def _hub() -> Column[str]:
    return Column("hub", String(128), ForeignKey("hw_hubs.name"), nullable=False)


schedule_state = Table(
    "hw_schedule_state",
    metadata,
    _hub(),
    Column(
        "stream_table_id",
        BigInteger,
        ForeignKey("hw_stream_tables.id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("sla_misses", Integer, nullable=False),
    Column("sla_spare", Integer, nullable=False),
    Column("decision_code", String(64)),
    Column("decision_reason", Message),
    Column("decided_at", Timestamp),
    Column("fuse_ceiling", BigInteger),
    Column("fuse_state", String(16), nullable=False),
    Column("fuse_reason", Message),
)

source_gates = Table(
    "hw_source_gates",
    metadata,
    _hub(),
    Column("namespace", String(128), nullable=False),
    Column("name", String(128), nullable=False),
    Column("gated_at", Timestamp, nullable=False),
    PrimaryKeyConstraint("hub", "namespace", "name"),
)

refresh_groups = Table(
    "hw_refresh_groups",
    metadata,
    _hub(),
    Column("name", String(128), nullable=False),
    Column("members", Text, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    PrimaryKeyConstraint("hub", "name"),
)

ticks = Table(
    "hw_ticks",
    metadata,
    Column("id", _Serial, primary_key=True, autoincrement=True),
    _hub(),
    Column("started_at", Timestamp, nullable=False),
    Column("finished_at", Timestamp),
    Column("versions", Text, nullable=False),
    Column("units", Integer, nullable=False),
    Column("host", String(255), nullable=False),
    Column("pid", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)
