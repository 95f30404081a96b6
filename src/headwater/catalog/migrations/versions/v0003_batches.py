"""Batches of writes that are still open; history by name."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_TIMESTAMP = sa.Text().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")


def upgrade() -> None:
    """Add the table of open batches and the index of the history."""
    op.create_table(
        "hw_batches",
        sa.Column("hub", sa.String(128), sa.ForeignKey("hw_hubs.name"), nullable=False),
        sa.Column("batch_id", sa.String(64), primary_key=True),
        sa.Column("opened_at", _TIMESTAMP, nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("pid", sa.BigInteger, nullable=False),
        sa.Column("process_started", sa.String(128), nullable=False),
    )
    op.create_index("hw_batches_hub", "hw_batches", ["hub"])
    op.create_index("hw_history_name", "hw_history", ["hub", "name", "seq"])


def downgrade() -> None:
    """Take both away."""
    op.drop_index("hw_history_name", "hw_history")
    op.drop_table("hw_batches")
