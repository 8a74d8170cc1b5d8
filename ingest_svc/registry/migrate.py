"""Brings the registry's schema up to date when the service starts."""

from __future__ import annotations

import logging

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from ingest_svc.registry.database_errors import database_error
from ingest_svc.registry.postgres import wait_for_migrations
from ingest_svc.registry.transaction_kind import OPTION, TransactionKind
from radref.errors import PreconditionFailed, RadrefError

MIGRATIONS = "ingest_svc.registry:migrations"


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
    failure: RadrefError
    try:
        return _upgrade(engine)
    except SQLAlchemyError as exc:
        failure = database_error(exc)
    raise failure


def _upgrade(engine: Engine) -> str:
    script = ScriptDirectory.from_config(alembic_config())
    on_postgres = engine.dialect.name == "postgresql"
    # On PostgreSQL the lock of all writes is taken below, with more patience than a write has.
    kind = TransactionKind.APART if on_postgres else TransactionKind.WRITE
    with engine.execution_options(**{OPTION: kind}).begin() as connection:
        if on_postgres:
            wait_for_migrations(connection)
            _check_encoding(connection)
        _check_age(connection, script)
        command.upgrade(alembic_config(connection), "head")
    return script.get_current_head() or ""


def _check_age(connection: Connection, script: ScriptDirectory) -> None:
    known = {revision.revision for revision in script.walk_revisions()}
    found = set(MigrationContext.configure(connection).get_current_heads())
    if not found <= known:
        raise PreconditionFailed(
            f"The registry was written by a newer release (schema {', '.join(sorted(found - known))}; this "
            f"one knows up to {script.get_current_head()}). Start that release again, or restore the backup "
            "made before the upgrade."
        )


def _check_encoding(connection: Connection) -> None:
    encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        raise PreconditionFailed(
            f"The registry's database has the encoding {encoding}; create it with ENCODING 'UTF8'."
        )
