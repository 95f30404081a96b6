"""The first schema: hubs, stream tables, runs, settings, jobs, leases, publish intents."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision: str | None = None
branch_labels = None
depends_on = None

_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIMESTAMP = sa.Text().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")


def _hub() -> sa.Column[str]:
    return sa.Column("hub", sa.String(128), sa.ForeignKey("hw_hubs.name"), nullable=False)


def _stream_table() -> sa.Column[int]:
    return sa.Column(
        "stream_table_id",
        sa.BigInteger,
        sa.ForeignKey("hw_stream_tables.id", ondelete="CASCADE"),
        nullable=False,
    )


def _where(condition: str) -> dict[str, Any]:
    return {f"{name}_where": sa.text(condition) for name in ("sqlite", "postgresql")}


def upgrade() -> None:
    """Create the tables."""
    _create_hubs()
    _create_stream_tables()
    _create_history()
    _create_shared_state()


def downgrade() -> None:
    """Drop the tables, the referring ones first."""
    op.drop_table("hw_publish_intents")
    op.drop_table("hw_leases")
    op.drop_table("hw_jobs")
    op.drop_table("hw_settings")
    op.drop_table("hw_history")
    op.drop_table("hw_dependencies")
    op.drop_table("hw_stream_tables")
    op.drop_table("hw_meta")
    op.drop_table("hw_hubs")


def _create_hubs() -> None:
    op.create_table(
        "hw_hubs",
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("created_at", _TIMESTAMP, nullable=False),
    )
    op.create_table(
        "hw_meta",
        sa.Column("hub", sa.String(128), sa.ForeignKey("hw_hubs.name"), primary_key=True),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("package_version", sa.String(64), nullable=False),
        sa.Column("updated_at", _TIMESTAMP, nullable=False),
    )


def _create_stream_tables() -> None:
    op.create_table(
        "hw_stream_tables",
        sa.Column("id", _SERIAL, primary_key=True, autoincrement=True),
        _hub(),
        sa.Column("namespace", sa.String(128), nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("query", sa.Text, nullable=False),
        sa.Column("definition_hash", sa.String(64), nullable=False),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("schedule", sa.String(128), nullable=False),
        sa.Column("refresh_mode", sa.String(32), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("tier", sa.String(16)),
        sa.Column("sla", sa.String(64)),
        sa.Column("freshness_deadline_ms", sa.BigInteger),
        sa.Column("unique_key", sa.Text, nullable=False),
        sa.Column("partition_by", sa.Text, nullable=False),
        sa.Column("append_only", sa.Boolean, nullable=False),
        sa.Column("diamond_consistency", sa.String(16), nullable=False),
        sa.Column("diamond_schedule_policy", sa.String(16), nullable=False),
        sa.Column("comment", sa.Text),
        sa.Column("tags", sa.Text, nullable=False),
        sa.Column("incremental", sa.Boolean, nullable=False),
        sa.Column("is_populated", sa.Boolean, nullable=False),
        sa.Column("needs_reinit", sa.Boolean, nullable=False),
        sa.Column("reinit_reason", sa.Text),
        sa.Column("consecutive_errors", sa.Integer, nullable=False),
        sa.Column("last_error_code", sa.String(16)),
        sa.Column("last_error_message", sa.Text),
        sa.Column("last_error_at", _TIMESTAMP),
        sa.Column("data_timestamp", _TIMESTAMP),
        sa.Column("last_refresh_at", _TIMESTAMP),
        sa.Column("last_action", sa.String(16)),
        sa.Column("last_reason_code", sa.String(64)),
        sa.Column("last_reason", sa.Text),
        sa.Column("layout", sa.Text, nullable=False),
        sa.Column("columns", sa.Text, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("frontier", sa.Text),
        sa.Column("frontier_head", sa.BigInteger),
        sa.Column("version", sa.BigInteger),
        sa.Column("created_at", _TIMESTAMP, nullable=False),
        sa.Column("updated_at", _TIMESTAMP, nullable=False),
        sa.UniqueConstraint("hub", "namespace", "name", name="hw_stream_tables_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "hw_dependencies",
        _hub(),
        _stream_table(),
        sa.Column("source_namespace", sa.String(128), nullable=False),
        sa.Column("source_name", sa.String(128), nullable=False),
        sa.Column("source_type", sa.String(16), nullable=False),
        sa.Column("columns_used", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("stream_table_id", "source_namespace", "source_name"),
    )
    op.create_index(
        "hw_dependencies_source", "hw_dependencies", ["hub", "source_namespace", "source_name"]
    )


def _create_history() -> None:
    op.create_table(
        "hw_history",
        sa.Column("seq", _SERIAL, primary_key=True, autoincrement=True),
        _hub(),
        sa.Column("run_id", sa.String(64), nullable=False, unique=True),
        sa.Column("stream_table_id", sa.BigInteger, nullable=False),
        sa.Column("name", sa.String(260), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("action", sa.String(16)),
        sa.Column("reason_code", sa.String(64)),
        sa.Column("reason", sa.Text),
        sa.Column("initiated_by", sa.String(16), nullable=False),
        sa.Column("started_at", _TIMESTAMP, nullable=False),
        sa.Column("finished_at", _TIMESTAMP),
        sa.Column("duration_ms", sa.Double),
        sa.Column("rows_inserted", sa.BigInteger, nullable=False),
        sa.Column("rows_deleted", sa.BigInteger, nullable=False),
        sa.Column("delta_rows", sa.BigInteger, nullable=False),
        sa.Column("spark_jobs", sa.Integer, nullable=False),
        sa.Column("apply", sa.String(16)),
        sa.Column("version", sa.BigInteger),
        sa.Column("parent_version", sa.BigInteger),
        sa.Column("frontier", sa.Text),
        sa.Column("strategy", sa.Text),
        sa.Column("error_code", sa.String(16)),
        sa.Column("error_message", sa.Text),
        sa.Column("tick", sa.BigInteger),
        sa.Column("repeats", sa.BigInteger, nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("pid", sa.BigInteger, nullable=False),
        sa.Column("process_started", sa.String(128), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("hw_history_table", "hw_history", ["hub", "stream_table_id", "seq"])
    op.create_index("hw_history_finished", "hw_history", ["hub", "finished_at"])
    op.create_index(
        "hw_history_running", "hw_history", ["hub", "status"], **_where("status = 'RUNNING'")
    )


def _create_shared_state() -> None:
    op.create_table(
        "hw_settings",
        sa.Column("hub", sa.String(128), sa.ForeignKey("hw_hubs.name"), primary_key=True),
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("updated_at", _TIMESTAMP, nullable=False),
    )
    op.create_table(
        "hw_jobs",
        sa.Column("job_id", _SERIAL, primary_key=True, autoincrement=True),
        _hub(),
        sa.Column("dag_version", sa.BigInteger, nullable=False),
        sa.Column("unit_key", sa.String(400), nullable=False),
        sa.Column("unit_kind", sa.String(32), nullable=False),
        sa.Column("members", sa.Text, nullable=False),
        sa.Column("root_id", sa.BigInteger),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("scheduler_pid", sa.BigInteger, nullable=False),
        sa.Column("worker_pid", sa.BigInteger),
        sa.Column("attempt_no", sa.Integer, nullable=False),
        sa.Column("enqueued_at", _TIMESTAMP, nullable=False),
        sa.Column("started_at", _TIMESTAMP),
        sa.Column("finished_at", _TIMESTAMP),
        sa.Column("outcome_detail", sa.Text),
        sa.Column("retryable", sa.Boolean),
        sa.Column("lease_owner", sa.String(255)),
        sa.Column("lease_token", sa.BigInteger, nullable=False),
        sa.Column("lease_expires_at", _TIMESTAMP),
        sqlite_autoincrement=True,
    )
    op.create_index("hw_jobs_status", "hw_jobs", ["hub", "status", "enqueued_at"])
    op.create_index(
        "hw_jobs_in_flight",
        "hw_jobs",
        ["hub", "unit_key"],
        unique=True,
        **_where("status IN ('QUEUED', 'RUNNING')"),
    )
    op.create_index(
        "hw_jobs_finished", "hw_jobs", ["hub", "finished_at"], **_where("finished_at IS NOT NULL")
    )
    op.create_table(
        "hw_leases",
        sa.Column("hub", sa.String(128), sa.ForeignKey("hw_hubs.name"), primary_key=True),
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("owner", sa.String(255), nullable=False),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("expires_at", _TIMESTAMP, nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("pid", sa.BigInteger, nullable=False),
        sa.Column("process_started", sa.String(128), nullable=False),
    )
    op.create_table(
        "hw_publish_intents",
        sa.Column("id", _SERIAL, primary_key=True, autoincrement=True),
        _hub(),
        sa.Column("unit_key", sa.String(400), nullable=False),
        sa.Column("members", sa.Text, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("created_at", _TIMESTAMP, nullable=False),
        sa.Column("finished_at", _TIMESTAMP),
        sqlite_autoincrement=True,
    )
    op.create_index("hw_publish_intents_open", "hw_publish_intents", ["hub", "status"])
