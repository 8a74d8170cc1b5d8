"""The registry on PostgreSQL: several processes, on several machines.

Writes run one after the other, across all processes: each takes one advisory lock before it looks at anything
and keeps it to its end. What was read stays true until the commit, as with SQLite's BEGIN IMMEDIATE, so the
repositories are written once for both. SERIALIZABLE would run them side by side, but the tables that every
write reads are small (the queue above all), and PostgreSQL then checks for conflicts by whole pages or
tables: with six writers of different jobs three of four such transactions failed and had to start again, and
7 a second got through where 27 did with the lock. A registry write takes milliseconds beside seconds of
parsing and embedding; uploaded bytes, which take longer, do not wait for the lock (TransactionKind.APART).

READ COMMITTED is what makes this right: every statement after the lock sees all that was committed before it.
A snapshot of the whole transaction would be taken by the statement that waits for the lock, too early.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import URL, Connection, Engine, create_engine, event, text

from ingest_svc.registry.transaction_kind import OPTION, TransactionKind

APPLICATION = "radref-ingest"
# Two-number advisory locks of this database that radref uses (document locks are of the one-number kind).
_LOCK_SPACE = 0x72616472
_WRITE_LOCK = text(f"SELECT pg_advisory_xact_lock({_LOCK_SPACE}, 1)")


@dataclass(frozen=True, slots=True)
class PostgresTimeouts:
    """How long PostgreSQL and the network may take, in seconds, all > 0.

    Attributes:
        connect: opening a connection, per host of the URL.
        statement: one statement (`statement_timeout`).
        idle_in_transaction: silence inside a transaction, after which the server ends it, so that a stopped
            process does not keep the others from writing.
        dead_peer: silence on the network after which either side takes the other for gone.
    """

    connect: int = 10
    statement: int = 60
    idle_in_transaction: int = 60
    dead_peer: int = 30


def open_postgres(
    url: URL, *, lock_timeout_ms: int, connections: int, timeouts: PostgresTimeouts | None = None
) -> Engine:
    """An engine whose writes wait for each other when they begin.

    Args:
        lock_timeout_ms: how long they wait, milliseconds, >= 1.
        connections: kept open at most, >= 1; two more are opened when all are busy.
    """
    timeouts = timeouts or PostgresTimeouts()
    engine = create_engine(
        url,
        hide_parameters=True,
        # The database's own default may be another one.
        isolation_level="READ COMMITTED",
        pool_size=connections,
        max_overflow=2,
        pool_timeout=timeouts.connect,
        # A restarted server leaves dead connections in the pool: they are found before they are used.
        pool_pre_ping=True,
        connect_args=connect_arguments(url, timeouts, lock_timeout_ms),
    )

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        kind = connection.get_execution_options().get(OPTION, TransactionKind.WRITE)
        if kind is TransactionKind.WRITE:
            connection.execute(_WRITE_LOCK)

    return engine


def connect_arguments(url: URL, timeouts: PostgresTimeouts, lock_timeout_ms: int) -> dict[str, object]:
    """What every connection of radref is opened with, beside the URL."""
    interval = max(1, timeouts.dead_peer // 6)
    session = {
        "timezone": "UTC",
        "lock_timeout": f"{lock_timeout_ms}ms",
        "statement_timeout": f"{timeouts.statement}s",
        "idle_in_transaction_session_timeout": f"{timeouts.idle_in_transaction}s",
        "tcp_keepalives_idle": str(timeouts.dead_peer // 2),
        "tcp_keepalives_interval": str(interval),
        "tcp_keepalives_count": "3",
    }
    options = " ".join(f"-c {name}={value}" for name, value in session.items())
    given = url.query.get("options", "")
    return {
        "application_name": APPLICATION,
        "client_encoding": "UTF8",
        "connect_timeout": timeouts.connect,
        "keepalives_idle": timeouts.dead_peer // 2,
        "keepalives_interval": interval,
        "keepalives_count": 3,
        "tcp_user_timeout": timeouts.dead_peer * 1000,
        # The site's own options win.
        "options": f"{options} {given if isinstance(given, str) else ' '.join(given)}".rstrip(),
        # A migration of a newer release beside us would break plans that the server has kept.
        "prepare_threshold": None,
    }


def wait_for_migrations(connection: Connection, minutes: int = 10) -> None:
    """Takes the lock of all writes for a migration: every process runs it, one after the other.

    Args:
        minutes: how long it may take to get any lock; statements may take as long as they need.
    """
    connection.execute(text("SET LOCAL statement_timeout = 0"))
    connection.execute(text(f"SET LOCAL lock_timeout = '{minutes}min'"))
    connection.execute(_WRITE_LOCK)
