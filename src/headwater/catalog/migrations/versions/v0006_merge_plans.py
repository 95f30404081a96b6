"""How a MERGE found the files it rewrote, beside what it took."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_COLUMNS = ("way", "files", "files_rewritten")


def upgrade() -> None:
    """Add the plan of a MERGE to the costs."""
    op.add_column("hw_costs", sa.Column("way", sa.String(16)))
    op.add_column("hw_costs", sa.Column("files", sa.BigInteger))
    op.add_column("hw_costs", sa.Column("files_rewritten", sa.BigInteger))


def downgrade() -> None:
    """Take it away."""
    for column in reversed(_COLUMNS):
        op.drop_column("hw_costs", column)
