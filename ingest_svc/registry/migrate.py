"""Brings the registry's schema up to date when the service starts."""

from __future__ import annotations

import logging

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

MIGRATIONS = "ingest_svc.registry:migrations"


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic's configuration without an ini file; `connection` is used for every step."""
    config = Config()
    config.set_main_option("script_location", MIGRATIONS)
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def upgrade(engine: Engine) -> str:
    """Runs the missing migrations in one transaction.

    Returns:
        The revision reached.

    Raises:
        alembic.util.CommandError: the schema is of a newer release than this one.
    """
    # Its own log lines are plain text, and what it did is in the revision returned.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    with engine.begin() as connection:
        command.upgrade(alembic_config(connection), "head")
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    return head or ""
