"""Old office formats to the ones that are read here, by LibreOffice without a screen."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ingest_svc.parsing import libreoffice_child
from ingest_svc.parsing.file_format import FileFormat
from ingest_svc.parsing.libreoffice_profile import Profile, own_profile
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.readable import unreadable_share
from radref.errors import DeadlineExceeded, Internal, InvalidInput

# What each format is converted into, and the file name ending LibreOffice expects of it.
TARGETS: dict[FileFormat, FileFormat] = {
    FileFormat.RTF: FileFormat.DOCX,
    FileFormat.DOC: FileFormat.DOCX,
    FileFormat.ODT: FileFormat.DOCX,
    FileFormat.PPT: FileFormat.PPTX,
    FileFormat.ODP: FileFormat.PPTX,
    FileFormat.XLS: FileFormat.XLSX,
    FileFormat.XLSB: FileFormat.XLSX,
    FileFormat.ODS: FileFormat.XLSX,
}
_EXPORT_FILTERS = {
    FileFormat.DOCX: "docx:MS Word 2007 XML",
    FileFormat.PPTX: "pptx:Impress MS PowerPoint 2007 XML",
    FileFormat.XLSX: "xlsx:Calc MS Excel 2007 XML",
}
# Share of the parse's time that a conversion may take; the parser needs the rest.
_TIME_SHARE = 0.8
# LibreOffice 7.4 converts a .doc of 650 KB in this address space (measured); less was not tried.
_MIN_MEMORY = 512 << 20
# soffice.bin ends with these when it wants to be started again (desktop/source/inc/exithelp.hxx): 79 after
# a crash report, 81 after the first start in a new profile.
_RESTART = frozenset({79, 81})
# Three accented Latin letters in a row stand in no Western word, in Cyrillic read as windows-1252 everywhere;
# four question marks are letters that a code page did not have.
_MOJIBAKE = re.compile("[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u00ff]{3,}")
_LOST = re.compile(r"\?{4,}")
_MAX_GARBLED = 0.02


def program() -> str | None:
    """Path of LibreOffice's program, None where it is not installed."""
    found = shutil.which("soffice") or shutil.which("libreoffice")
    if found is None:
        return None
    # The start script forks; only the program itself dies with its parent for sure.
    direct = Path(found).resolve().with_name("soffice.bin")
    return str(direct) if os.access(direct, os.X_OK) else found


def convert(data: bytes, source: FileFormat, limits: ParseLimits) -> bytes:
    """A document in the format that `TARGETS` names for its own.

    Runs in its own process group, with limits of time, memory and file size, without network, macros and
    links; the group dies with this process.

    Args:
        data: the file.
        source: its format, a key of `TARGETS`.
        limits: `timeout_seconds`, `memory_bytes` (512 MiB at least) and `max_expanded_bytes` count.

    Raises:
        InvalidInput: CORRUPT_FILE, when LibreOffice cannot read the file.
        DeadlineExceeded: PARSE_TIMEOUT.
        Internal: PARSER_CRASHED, when LibreOffice cannot be started or dies.
    """
    binary = program()
    if binary is None:
        raise Internal("LibreOffice is not installed.", reason="PARSER_CRASHED")
    profile = own_profile()
    with profile.in_use, tempfile.TemporaryDirectory(dir=profile.folder, prefix="work-") as work:
        deadline = time.monotonic() + _TIME_SHARE * limits.timeout_seconds
        try:
            return _converted(binary, profile, Path(work), data, source, limits, deadline)
        except (DeadlineExceeded, Internal):
            profile.renew()
            raise


def check_readable(text: str) -> None:
    """Refuses the text of a converted file whose letters were lost or read in a wrong code page.

    Raises:
        InvalidInput: CORRUPT_FILE.
    """
    if garbled_share(text) > _MAX_GARBLED or unreadable_share(text) > _MAX_GARBLED:
        raise InvalidInput(
            "The text of the file is garbled: it does not say in which code page it is written, or says it "
            "wrong. Open it, save it as .docx and send that.",
            reason="CORRUPT_FILE",
        )


def garbled_share(text: str) -> float:
    """Characters in words of a wrong code page or in rows of question marks, per letter, 0 to 1."""
    letters = sum(char.isalpha() for char in text)
    bad = sum(len(match.group()) for pattern in (_MOJIBAKE, _LOST) for match in pattern.finditer(text))
    return min(1.0, bad / max(1, letters))


def _converted(
    binary: str,
    profile: Profile,
    work: Path,
    data: bytes,
    source: FileFormat,
    limits: ParseLimits,
    deadline: float,
) -> bytes:
    given = work / f"document.{source.value}"
    given.write_bytes(data)
    target = TARGETS[source]
    made = work / "out" / f"document.{target.value}"
    command = [
        binary,
        "--headless",
        "--norestore",
        "--nolockcheck",
        "--nologo",
        f"-env:UserInstallation={profile.installation.as_uri()}",
        "--convert-to",
        _EXPORT_FILTERS[target],
        "--outdir",
        str(made.parent),
        str(given),
    ]
    code = _run(command, work, limits, deadline)
    if code in _RESTART:
        code = _run(command, work, limits, deadline)
    if code < 0:
        raise Internal(
            "LibreOffice died on this file. Save it as .docx, .pptx or .xlsx and send that.",
            reason="PARSER_CRASHED",
        )
    if code > 1:
        raise Internal(f"LibreOffice could not be started (exit status {code}).", reason="PARSER_CRASHED")
    if not made.is_file() or made.stat().st_size == 0:
        raise InvalidInput(
            f"The .{source.value} file is damaged: LibreOffice cannot read it. "
            f"Open it, save it as .{target.value} and send that.",
            reason="CORRUPT_FILE",
        )
    return made.read_bytes()


def _run(command: list[str], work: Path, limits: ParseLimits, deadline: float) -> int:
    memory = max(limits.memory_bytes, _MIN_MEMORY) if limits.memory_bytes else 1 << 40
    launcher = [
        sys.executable,
        "-I",
        "-S",
        str(Path(libreoffice_child.__file__)),
        str(os.getpid()),
        str(memory),
        str(limits.max_expanded_bytes),
    ]
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(work),
        "TMPDIR": str(work),
        "LANG": "C.UTF-8",
        "SAL_USE_VCLPLUGIN": "svp",
    }
    process = subprocess.Popen(
        [*launcher, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=work,
        env=environment,
        start_new_session=True,
    )
    try:
        return process.wait(timeout=max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise DeadlineExceeded(
            "Converting the file with LibreOffice took too long and was stopped. "
            "Save it as .docx, .pptx or .xlsx and send that.",
            reason="PARSE_TIMEOUT",
        ) from None
    finally:
        # Also after a good end: whatever it left running goes with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
