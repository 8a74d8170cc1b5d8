"""A real PostgreSQL for tests: a server of its own on the loopback, its folder gone at the end."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy.engine import URL, make_url

PASSWORD = "secret-of-the-tests"
_USER = "radref"
_PATIENCE_SECONDS = 60.0
# A power cut may cost a test's data: nothing is synced to disk.
_OPTIONS = (
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "shared_buffers=32MB",
    "max_connections=100",
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "logging_collector=off",
)


def find_postgres() -> Path | None:
    """The folder of `initdb` and `postgres`, the newest release first; None = not installed."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    installed = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(installed, key=lambda path: int(path.parent.name.partition(".")[0]), default=None)


class PostgresServer:
    """A server that can be stopped, killed and started again on the same port and data.

    Its process dies with the thread that started it.
    """

    def __init__(self, programs: Path, folder: Path) -> None:
        """`folder`: empty, owned by the user the server runs as."""
        self._programs = programs
        self._folder = folder
        self._data = folder / "data"
        self._log = folder / "server.log"
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """SQLAlchemy URL of the database `postgres`, whose user may do everything; with its password."""
        made = URL.create("postgresql+psycopg", _USER, PASSWORD, "127.0.0.1", self._port, "postgres")
        return made.render_as_string(hide_password=False)

    def create(self) -> None:
        """Makes the data folder."""
        password_file = self._folder / "password"
        password_file.write_text(PASSWORD)
        command = [
            *_as_ordinary_user(),
            str(self._programs / "initdb"),
            *("-D", str(self._data), "-U", _USER, "-A", "scram-sha-256", f"--pwfile={password_file}"),
            *("-E", "UTF8", "--locale=C", "--no-sync"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self._folder)
        if done.returncode != 0:
            raise RuntimeError(f"initdb failed: {done.stderr}")

    def start(self) -> None:
        """Starts the server and waits until it answers; takes another port if somebody has this one."""
        for _ in range(5):
            self._launch()
            if self._answers():
                return
            self._port = _free_port()
        raise RuntimeError(f"PostgreSQL did not start: {self._log.read_text()[-2000:]}")

    def stop(self, signal_number: int = signal.SIGINT) -> None:
        """Ends it. SIGINT: connections are cut; SIGQUIT: as in a crash, recovers when started again."""
        process, self._process = self._process, None
        if process is None:
            return
        for number in (signal_number, signal.SIGQUIT, signal.SIGKILL):
            process.send_signal(number)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                continue
            return

    def _launch(self) -> None:
        options = [part for option in (*_OPTIONS, f"port={self._port}") for part in ("-c", option)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_as_ordinary_user(), str(self._programs / "postgres"), "-D", str(self._data), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
            )

    def _answers(self) -> bool:
        assert self._process is not None
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self._process.poll() is None:
            try:
                _connect(self.url).close()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    self.stop(signal.SIGQUIT)
                    return False
                time.sleep(0.05)
            else:
                return True
        return False


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """A running server with an empty data folder.

    Raises:
        FileNotFoundError: PostgreSQL is not installed; `find_postgres` says so beforehand.
    """
    programs = find_postgres()
    if programs is None:
        raise FileNotFoundError("PostgreSQL (initdb) is neither on PATH nor in /usr/lib/postgresql")
    # Not pytest's own folder: that may lie where the server's user cannot reach it.
    folder = Path(tempfile.mkdtemp(prefix="radref-postgres-"))
    if os.geteuid() == 0:
        user = _ordinary_user()
        os.chown(folder, user.pw_uid, user.pw_gid)
    server = PostgresServer(programs, folder)
    try:
        server.create()
        server.start()
        yield server
    finally:
        # Its data goes away: nothing needs to be written down.
        server.stop(signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_postgres() -> Iterator[str]:
    """`running_server` as its URL."""
    with running_server() as server:
        yield server.url


@contextmanager
def fresh_database(server_url: str, template: str = "template1", encoding: str = "UTF8") -> Iterator[str]:
    """A database of its own, dropped at the end whoever still uses it.

    Args:
        template: name of a database that it starts as a copy of; nobody may be connected to that.
        encoding: other than the template's only with "template0".

    Yields:
        Its SQLAlchemy URL.
    """
    name = f"test_{secrets.token_hex(8)}"
    with _connect(server_url) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING {}").format(
                sql.Identifier(name), sql.Identifier(template), sql.Literal(encoding)
            )
        )
    try:
        yield make_url(server_url).set(database=name).render_as_string(hide_password=False)
    finally:
        with _connect(server_url) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def kill_connections(database_url: str) -> int:
    """Ends every connection to a database, as an administrator or a failover would. Returns how many."""
    with _connect(database_url) as connection:
        killed = connection.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
    return int(str(killed[0])) if killed else 0


def _connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    address = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(address, autocommit=True, connect_timeout=10)


def _as_ordinary_user() -> list[str]:
    # PostgreSQL refuses to run as root; setpriv also ends it when the test process is killed.
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        if os.geteuid() == 0:
            raise FileNotFoundError("setpriv (util-linux) is needed to start PostgreSQL as root")
        return []
    command = [setpriv, "--pdeathsig", "QUIT"]
    if os.geteuid() == 0:
        user = _ordinary_user()
        command += [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    return command


def _ordinary_user() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise LookupError("no ordinary user to run PostgreSQL as")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port
