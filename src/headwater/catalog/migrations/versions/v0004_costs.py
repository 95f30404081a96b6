"""What refreshes took, for the cost model."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_TIMESTAMP = sa.Text().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")
_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table of costs."""
    op.create_table(
        "hw_costs",
        sa.Column("id", _SERIAL, primary_key=True, autoincrement=True),
        sa.Column("hub", sa.String(128), sa.ForeignKey("hw_hubs.name"), nullable=False),
        sa.Column(
            "stream_table_id",
            sa.BigInteger,
            sa.ForeignKey("hw_stream_tables.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("measured_at", _TIMESTAMP, nullable=False),
        sa.Column("is_full", sa.Boolean, nullable=False),
        sa.Column("reason_code", sa.String(64), nullable=False),
        sa.Column("specialisation", sa.String(255), nullable=False),
        sa.Column("apply", sa.String(16), nullable=False),
        sa.Column("planned_bytes", sa.BigInteger, nullable=False),
        sa.Column("planned_rows", sa.BigInteger),
        sa.Column("delta_rows", sa.BigInteger, nullable=False),
        sa.Column("source_bytes", sa.BigInteger, nullable=False),
        sa.Column("warmth", sa.Integer, nullable=False),
        sa.Column("duration_ms", sa.Double, nullable=False),
        sa.Column("expected_incremental_ms", sa.Double),
        sa.Column("expected_full_ms", sa.Double),
        sqlite_autoincrement=True,
    )
    op.create_index("hw_costs_table", "hw_costs", ["hub", "stream_table_id", "id"])


def downgrade() -> None:
    """Take it away."""
    op.drop_table("hw_costs")
