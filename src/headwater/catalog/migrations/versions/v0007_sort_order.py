"""The order in which the rows of a stream table are stored."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the sort order; tables that are there have none."""
    op.add_column(
        "hw_stream_tables", sa.Column("sort_by", sa.Text, nullable=False, server_default="[]")
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_column("hw_stream_tables", "sort_by")
