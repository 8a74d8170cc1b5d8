"""A user profile for LibreOffice: a folder that one process owns, with everything active switched off."""

from __future__ import annotations

import atexit
import fcntl
import functools
import os
import shutil
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "radref-libreoffice-"
_LOCK = "owner.lock"
# Paths of the LibreOffice 7.4 configuration schema (officecfg); unknown ones are ignored by other releases.
_SETTINGS: tuple[tuple[str, str, str], ...] = (
    # Macros: only signed ones from trusted places (there are none), and none at all.
    ("Office.Common/Security/Scripting", "MacroSecurityLevel", "3"),
    ("Office.Common/Security/Scripting", "DisableMacrosExecution", "true"),
    # Linked pictures and texts outside trusted places are not fetched, neither from the net nor from disk.
    ("Office.Common/Security/Scripting", "BlockUntrustedRefererLinks", "true"),
    ("Office.Common/Security/Scripting", "DisableActiveContent", "true"),
    # Links are never updated (Writer: 0 = never, Calc: 1 = never), formulas never recalculated (1 = never).
    ("Office.Writer/Content/Update", "Link", "0"),
    ("Office.Calc/Content/Update", "Link", "1"),
    ("Office.Calc/Formula/Load", "OOXMLRecalcMode", "1"),
    ("Office.Calc/Formula/Load", "ODFRecalcMode", "1"),
    # A proxy that does not exist (2 = manual; port 9 is discard), so that nothing leaves by HTTP.
    ("Inet/Settings", "ooInetProxyType", "2"),
    ("Inet/Settings", "ooInetHTTPProxyName", "127.0.0.1"),
    ("Inet/Settings", "ooInetHTTPProxyPort", "9"),
    ("Inet/Settings", "ooInetHTTPSProxyName", "127.0.0.1"),
    ("Inet/Settings", "ooInetHTTPSProxyPort", "9"),
)


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile of this process.

    Attributes:
        folder: private folder; the profile is `folder / "user-installation"`, work files lie beside it.
        in_use: held during a conversion: one LibreOffice per profile.
        lock: descriptor whose lock says that the owner lives; closed by the end of the process.
    """

    folder: Path
    in_use: threading.Lock
    lock: int

    @property
    def installation(self) -> Path:
        """What -env:UserInstallation points at."""
        return self.folder / "user-installation"

    def renew(self) -> None:
        """Makes the profile anew: after a killed run its files may be half written."""
        shutil.rmtree(self.installation, ignore_errors=True)
        _write_settings(self.installation)


def own_profile() -> Profile:
    """The profile of this process, made on first use and kept: a first start costs about a second more.

    Raises:
        OSError: the temporary folder cannot be written.
    """
    return _profile_of(os.getpid())


@functools.cache
def _profile_of(process: int) -> Profile:
    root = Path(tempfile.gettempdir())
    _remove_abandoned(root)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{process}-", dir=root))
        lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        if _locked(lock):
            break
        # Another process took it for abandoned between the two calls above.
        os.close(lock)
    # Workers that are killed leave it to the next process.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    profile = Profile(folder, threading.Lock(), lock)
    profile.renew()
    return profile


def _remove_abandoned(root: Path) -> None:
    """Removes the profiles of dead processes; a killed worker cannot do it itself."""
    for folder in root.glob(f"{_PREFIX}*"):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR)
        except OSError:
            # Gone meanwhile, or just being made.
            continue
        try:
            if _locked(lock):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_settings(installation: Path) -> None:
    items = "".join(
        f'<item oor:path="/org.openoffice.{path}"><prop oor:name="{name}" oor:op="fuse">'
        f"<value>{value}</value></prop></item>\n"
        for path, name, value in _SETTINGS
    )
    user = installation / "user"
    user.mkdir(parents=True, mode=0o700)
    (user / "registrymodifications.xcu").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<oor:items xmlns:oor="http://openoffice.org/2001/registry" '
        'xmlns:xs="http://www.w3.org/2001/XMLSchema" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">\n'
        f"{items}</oor:items>\n",
        encoding="utf-8",
    )
