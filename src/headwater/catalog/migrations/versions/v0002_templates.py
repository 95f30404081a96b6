"""Compiled templates kept in the catalog, and the publication of a stream table."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TIMESTAMP = sa.Text().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")


def upgrade() -> None:
    """Add the table of templates and the name of the publication."""
    op.create_table(
        "hw_templates",
        sa.Column("hub", sa.String(128), sa.ForeignKey("hw_hubs.name"), nullable=False),
        sa.Column(
            "stream_table_id",
            sa.BigInteger,
            sa.ForeignKey("hw_stream_tables.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("specialisation", sa.String(255), nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.Column("created_at", _TIMESTAMP, nullable=False),
        sa.PrimaryKeyConstraint("stream_table_id", "generation", "specialisation"),
    )
    op.create_index("hw_templates_hub", "hw_templates", ["hub"])
    op.add_column("hw_stream_tables", sa.Column("downstream_publication", sa.String(300)))


def downgrade() -> None:
    """Take both away."""
    op.drop_column("hw_stream_tables", "downstream_publication")
    op.drop_table("hw_templates")
