"""Brings the audit store's schema up to date."""

from __future__ import annotations

import logging

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from gateway.audit.database_errors import database_error
from radref.errors import PreconditionFailed

MIGRATIONS = "gateway.audit:migrations"
# The registry may live in the same database, with a version table of its own.
VERSION_TABLE = "audit_schema_version"
# One number of PostgreSQL's advisory locks of this database; the registry uses 1.
_MIGRATION_LOCK = text(f"SELECT pg_advisory_xact_lock({0x72616472}, 2)")


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic's configuration without an ini file; `connection` is used for every step."""
    config = Config()
    config.set_main_option("script_location", MIGRATIONS)
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def upgrade(engine: Engine) -> str:
    """Runs the missing migrations in one transaction; of several processes that start, one does it.

    Returns:
        The revision reached.

    Raises:
        PreconditionFailed: INVALID_STATE, the schema is of a newer release than this one, or the database
            cannot hold all of Unicode.
        Unavailable: BACKEND_UNAVAILABLE, the database does not answer.
    """
    # Its own log lines are plain text, and what it did is in the revision returned.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    try:
        return _upgrade(engine)
    except SQLAlchemyError as exc:
        error = database_error(exc)
    raise error


def _upgrade(engine: Engine) -> str:
    script = ScriptDirectory.from_config(alembic_config())
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(_MIGRATION_LOCK)
            _check_encoding(connection)
        _check_age(connection, script)
        command.upgrade(alembic_config(connection), "head")
    return script.get_current_head() or ""


def _check_age(connection: Connection, script: ScriptDirectory) -> None:
    known = {revision.revision for revision in script.walk_revisions()}
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    found = set(context.get_current_heads())
    if not found <= known:
        raise PreconditionFailed(
            f"The audit store was written by a newer release (schema {', '.join(sorted(found - known))}; "
            f"this one knows up to {script.get_current_head()}). Start that release again, or restore the "
            "backup made before the upgrade."
        )


def _check_encoding(connection: Connection) -> None:
    encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        raise PreconditionFailed(
            f"The audit store's database has the encoding {encoding}; create it with ENCODING 'UTF8'."
        )
