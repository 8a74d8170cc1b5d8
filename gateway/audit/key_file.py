"""The secret key of the hash of questions, in a file that only this process reads."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

import structlog

from radref.errors import PreconditionFailed

# As long as the hash it keys (RFC 2104, section 3); a shorter one can be guessed together with the question.
MIN_KEY_BYTES = 32
# More is no key but another file, named by mistake.
MAX_KEY_BYTES = 4096

log = structlog.get_logger()


def read_key(path: Path) -> bytes:
    """The bytes of the file as they are, a line end included.

    Raises:
        PreconditionFailed: INVALID_STATE, the file is missing, not a file, too short, too long, or open to
            others (`is_private`).
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            key = file.read(MAX_KEY_BYTES + 1)
    except OSError as exc:
        raise PreconditionFailed(f"the audit key file {path} cannot be read: {exc.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise PreconditionFailed(f"the audit key file {path} is not a file")
    mode = stat.S_IMODE(status.st_mode)
    if not is_private(mode, owner=status.st_uid, user=os.geteuid()):
        raise PreconditionFailed(
            f"the audit key file {path} is open to others than its owner (mode {mode:04o}): chmod 600 {path}"
        )
    if not MIN_KEY_BYTES <= len(key) <= MAX_KEY_BYTES:
        raise PreconditionFailed(
            f"the audit key file {path} must hold {MIN_KEY_BYTES} to {MAX_KEY_BYTES} random bytes: "
            f"head -c {MIN_KEY_BYTES} /dev/urandom > {path}"
        )
    return key


def is_private(mode: int, *, owner: int, user: int) -> bool:
    """True where nobody but `user` and the administrator can read or change the file.

    A file of the user is open to no group. A file of root may be readable by its group, else a user who is
    not root could not read it at all: that is how Kubernetes mounts a Secret for a pod with `fsGroup`
    (root:fsGroup, mode 0440; 0400 cannot be had there). PostgreSQL has the same rule for its key files.

    Args:
        mode: permission bits.
        owner: user id of the file's owner.
        user: effective user id of the process.
    """
    if owner == 0 and user != 0:
        return not mode & (stat.S_IWGRP | stat.S_IXGRP | stat.S_IRWXO)
    return not mode & (stat.S_IRWXG | stat.S_IRWXO)


def read_or_make_key(path: Path) -> bytes:
    """As `read_key`; a file that is not there is made once, with a random key and mode 0600.

    Raises:
        PreconditionFailed: as `read_key`, or the file cannot be made.
    """
    try:
        if not path.exists():
            _make(path)
    except OSError as exc:
        raise PreconditionFailed(f"the audit key file {path} cannot be made: {exc.strerror}") from None
    return read_key(path)


def _make(path: Path) -> None:
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(MIN_KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            # Fails where another process was first: then its key counts.
            os.link(temporary, path)
            log.info("audit key made", path=str(path))
        except FileExistsError:
            return
    finally:
        temporary.unlink()
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
