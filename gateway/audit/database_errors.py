"""What is told when the audit store's database fails. Pure.

Messages of databases quote statements, values and addresses: only names that the program defines are told.
"""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from radref.errors import Internal, RadrefError, Unavailable

BACKEND = "audit"
# PostgreSQL files these under "internal error": a stand-by that was not promoted yet, and a transaction ended
# because we were silent for too long (https://www.postgresql.org/docs/current/errcodes-appendix.html).
_AWAY = frozenset({"25006", "25P03"})


def database_error(exc: SQLAlchemyError) -> RadrefError:
    """Unavailable for a database that is away, busy, full or not writable; Internal for everything else."""
    if isinstance(exc, PoolTimeout):
        return Unavailable(
            "the audit store is busy", metadata={"backend": BACKEND, "cause": "no free connection"}
        )
    metadata = {"backend": BACKEND, "cause": type(getattr(exc, "orig", None) or exc).__name__}
    if not isinstance(exc, DBAPIError):
        return Internal("the audit store cannot be used", metadata=metadata)
    sqlstate = getattr(exc.orig, "sqlstate", None) or getattr(exc.orig, "sqlite_errorname", None)
    if sqlstate:
        metadata["sqlstate"] = sqlstate
    if isinstance(exc, OperationalError | InterfaceError) or exc.connection_invalidated or sqlstate in _AWAY:
        return Unavailable("the audit store does not answer", metadata=metadata)
    return Internal("the audit store refused a change", metadata=metadata)
