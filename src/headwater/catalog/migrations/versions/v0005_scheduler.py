"""What the scheduler remembers: decisions, service levels, fuses, gates, groups, ticks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_TIMESTAMP = sa.Text().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")
_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _hub() -> sa.Column[str]:
    return sa.Column("hub", sa.String(128), sa.ForeignKey("hw_hubs.name"), nullable=False)


def upgrade() -> None:
    """Add the tables of the scheduler."""
    op.create_table(
        "hw_schedule_state",
        _hub(),
        sa.Column(
            "stream_table_id",
            sa.BigInteger,
            sa.ForeignKey("hw_stream_tables.id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("sla_misses", sa.Integer, nullable=False),
        sa.Column("sla_spare", sa.Integer, nullable=False),
        sa.Column("decision_code", sa.String(64)),
        sa.Column("decision_reason", sa.Text),
        sa.Column("decided_at", _TIMESTAMP),
        sa.Column("fuse_ceiling", sa.BigInteger),
        sa.Column("fuse_state", sa.String(16), nullable=False),
        sa.Column("fuse_reason", sa.Text),
    )
    op.create_table(
        "hw_source_gates",
        _hub(),
        sa.Column("namespace", sa.String(128), nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("gated_at", _TIMESTAMP, nullable=False),
        sa.PrimaryKeyConstraint("hub", "namespace", "name"),
    )
    op.create_table(
        "hw_refresh_groups",
        _hub(),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("members", sa.Text, nullable=False),
        sa.Column("created_at", _TIMESTAMP, nullable=False),
        sa.PrimaryKeyConstraint("hub", "name"),
    )
    op.create_table(
        "hw_ticks",
        sa.Column("id", _SERIAL, primary_key=True, autoincrement=True),
        _hub(),
        sa.Column("started_at", _TIMESTAMP, nullable=False),
        sa.Column("finished_at", _TIMESTAMP),
        sa.Column("versions", sa.Text, nullable=False),
        sa.Column("units", sa.Integer, nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("pid", sa.BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("hw_schedule_state_hub", "hw_schedule_state", ["hub"])
    op.create_index("hw_ticks_hub", "hw_ticks", ["hub", "started_at"])


def downgrade() -> None:
    """Take them away."""
    for table in ("hw_ticks", "hw_refresh_groups", "hw_source_gates", "hw_schedule_state"):
        op.drop_table(table)
