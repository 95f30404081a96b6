"""Entry point of Alembic: runs migrations on the connection that `schema.upgrade` holds."""

from __future__ import annotations

from alembic import context

from headwater.catalog.tables import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
with context.begin_transaction():
    context.run_migrations()
