"""Alembic's entry point: runs on the connection it is given."""

from __future__ import annotations

from alembic import context

from gateway.audit.migrate import VERSION_TABLE
from gateway.audit.tables import Base

connection = context.config.attributes["connection"]
# SQLite cannot alter columns in place; batch mode rebuilds the table instead. It does roll back changes of
# tables, other than Alembic thinks: a start that dies half-way leaves the old schema.
context.configure(
    connection=connection,
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    # Other tables of a shared database are none of our business.
    include_name=lambda name, kind, _: kind != "table" or name in Base.metadata.tables,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
