"""Which databases the audit store runs on. Pure."""

from __future__ import annotations

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

_POSTGRESQL = "postgresql"


def parse_database_url(url: str) -> URL:
    """The URL with the driver that radref uses.

    Args:
        url: `sqlite:///FILE`, or `postgresql://USER:PASSWORD@HOST:PORT/DATABASE` (`postgresql+psycopg://` and
            `postgres://` mean the same); libpq's parameters such as `sslmode` may follow after `?`.

    Raises:
        ValueError: it is not one of these. The message never repeats the URL: it may hold a password.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ValueError("the database URL cannot be read") from None
    match parsed.drivername:
        case "sqlite" | "sqlite+pysqlite":
            if not parsed.database or parsed.database == ":memory:":
                raise ValueError("the audit store needs a SQLite file: sqlite:///FILE")
        case "postgresql" | "postgres" | "postgresql+psycopg":
            if not parsed.database:
                raise ValueError("the database URL names no database")
            parsed = parsed.set(drivername="postgresql+psycopg")
        case _:
            raise ValueError("the audit store runs on sqlite:///FILE or postgresql://...")
    return parsed


def is_shared(url: str) -> bool:
    """True where gateways on several machines may use the database (PostgreSQL). Raises as above."""
    return parse_database_url(url).get_backend_name() == _POSTGRESQL
