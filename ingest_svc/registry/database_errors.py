"""What is told when the database fails. Pure.

Messages of databases quote statements, values and rows, which may be document text, and addresses: nothing of
them is passed on, only names that the program itself defines.
"""

from __future__ import annotations

from sqlalchemy.exc import DataError, DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from radref.errors import Internal, InvalidInput, RadrefError, Unavailable

# PostgreSQL files these under "internal error": a stand-by that was not promoted yet, and a transaction ended
# because we were silent for too long (https://www.postgresql.org/docs/current/errcodes-appendix.html).
_AWAY = frozenset({"25006", "25P03"})
# What libpq and the server say when a connection cannot be opened (SQLSTATE is not told), and its short name.
_CONNECTING = (
    ("authentication failed", "authentication failed"),
    ("no pg_hba.conf entry", "not allowed by pg_hba.conf"),
    ("could not translate host name", "unknown host name"),
    ("failed to resolve host", "unknown host name"),
    ("Connection refused", "connection refused"),
    ("too many", "too many connections"),
    ("starting up", "starting up"),
    ("shutting down", "shutting down"),
    ("does not exist", "unknown database or user"),
    ("timeout", "connection timed out"),
    ("SSL", "TLS"),
)


def database_error(exc: SQLAlchemyError) -> RadrefError:
    """What `exc` means to the caller.

    Returns:
        Unavailable for a database that is away, busy or full; InvalidInput for a value that it cannot hold;
        Internal for everything else.
    """
    if isinstance(exc, PoolTimeout):
        return Unavailable("The registry database is busy.", metadata={"cause": "no free connection"})
    if not isinstance(exc, DBAPIError):
        return Internal("The registry could not be read.", metadata={"cause": type(exc).__name__})
    metadata = {"cause": type(exc.orig).__name__}
    sqlstate = getattr(exc.orig, "sqlstate", None)
    constraint = getattr(getattr(exc.orig, "diag", None), "constraint_name", None)
    if sqlstate:
        metadata["sqlstate"] = sqlstate
    if constraint:
        metadata["constraint"] = constraint
    if isinstance(exc, OperationalError | InterfaceError) or exc.connection_invalidated or sqlstate in _AWAY:
        if not sqlstate:
            metadata |= _connecting(str(exc.orig))
        return Unavailable("The registry database does not answer.", metadata=metadata)
    if isinstance(exc, DataError):
        return InvalidInput(
            "The registry cannot store a value: a text is too long or holds a NUL character, or a number is "
            "too large.",
            metadata=metadata,
        )
    return Internal("The registry refused a change.", metadata=metadata)


def _connecting(message: str) -> dict[str, str]:
    return next(({"detail": name} for phrase, name in _CONNECTING if phrase in message), {})
