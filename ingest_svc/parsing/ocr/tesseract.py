"""Tesseract through its command line.

A call of our own and not pytesseract: that one writes the image to disk; here pages stay in memory.
"""

from __future__ import annotations

import io
import math
import os
import re
import resource
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from PIL.Image import Image

from ingest_svc.parsing.ocr.engine import Line, Orientation, Word
from ingest_svc.parsing.ocr.foreign_words import second_look
from radref.errors import DeadlineExceeded, Internal

_PROBE_SECONDS = 20.0
_ROTATE = re.compile(r"^Rotate: (\d+)$", re.M)
_ORIENTATION_CONFIDENCE = re.compile(r"^Orientation confidence: (\d+(?:\.\d+)?)$", re.M)
# Tesseract's baseapi.h calls 15 reasonably confident. Measured: right answers on whole pages lie at 7 and
# more, on a few lines at 2 to 3, which other evidence has to confirm.
_SURE_ORIENTATION = 4.0
_WORD_LEVEL = "5"
_COLUMNS = 12


@dataclass(frozen=True, slots=True)
class TesseractEngine:
    """Debian's tesseract 5.

    Args:
        program: path of the executable.
        languages: installed language models, e.g. ("rus", "eng").
    """

    program: str
    languages: tuple[str, ...]

    @property
    def name(self) -> str:
        return "tesseract"

    def orientation(self, image: Image, timeout: float) -> Orientation | None:
        """By orientation and script detection; None when the page has too few characters for it."""
        try:
            output = _run([self.program, "stdin", "stdout", "--psm", "0", "--dpi", "300"], image, timeout)
        except Internal:
            # "Too few characters" is exit code 1, as any failure of the detector.
            return None
        rotate = _ROTATE.search(output)
        sure = _ORIENTATION_CONFIDENCE.search(output)
        if rotate is None or sure is None:
            return None
        return Orientation(int(rotate.group(1)) % 360, float(sure.group(1)) >= _SURE_ORIENTATION)

    def read(self, image: Image, timeout: float) -> tuple[Line, ...]:
        """Automatic page segmentation (psm 3): columns are told apart and read one after the other."""
        deadline = time.monotonic() + timeout
        lines = self._lines(image, self.languages, "3", timeout)

        def read_stack(stack: Image, languages: Sequence[str]) -> tuple[Line, ...]:
            return self._lines(stack, languages, "6", max(1.0, deadline - time.monotonic()))

        return second_look(lines, image, self.languages, read_stack)

    def read_stack(self, image: Image, timeout: float) -> tuple[Line, ...]:
        """As one block of text (psm 6)."""
        return self._lines(image, self.languages, "6", timeout)

    def _lines(self, image: Image, languages: Sequence[str], mode: str, timeout: float) -> tuple[Line, ...]:
        options = ["-l", "+".join(languages), "--psm", mode, "--dpi", "300"]
        return lines_of_tsv(_run([self.program, "stdin", "stdout", *options, "tsv"], image, timeout))


def find_tesseract(languages: tuple[str, ...]) -> tuple[TesseractEngine | None, str]:
    """The engine, or None and a sentence that says what is missing."""
    program = shutil.which("tesseract")
    if program is None:
        return None, f"The program tesseract is not installed (Debian: {_packages(languages)})."
    try:
        listed = subprocess.run(
            [program, "--list-langs"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=True,
            env=_environment(),
        )
    except (subprocess.SubprocessError, OSError) as exc:
        return None, f"The program tesseract does not run ({type(exc).__name__})."
    installed = {line.strip() for line in listed.stdout.decode("utf-8", "replace").splitlines()[1:]}
    missing = [language for language in languages if language not in installed]
    if missing:
        packages = _packages(missing, program=False)
        return None, f"Tesseract lacks the language data {', '.join(missing)} (Debian: {packages})."
    return TesseractEngine(program, languages), ""


def _packages(languages: Sequence[str], *, program: bool = True) -> str:
    """Debian's packages of the program and of language data."""
    data = [f"tesseract-ocr-{language.replace('_', '-').lower()}" for language in languages]
    return ", ".join(["tesseract-ocr", *data] if program else data)


def lines_of_tsv(output: str) -> tuple[Line, ...]:
    """Tesseract's TSV (level, page, block, paragraph, line, word, left, top, width, height, conf, text)."""
    rows: dict[tuple[int, int, int], list[Word]] = {}
    for row in output.splitlines()[1:]:
        fields = row.split("\t", _COLUMNS - 1)
        if len(fields) < _COLUMNS or fields[0] != _WORD_LEVEL or not fields[11].strip():
            continue
        left, top, width, height = (int(value) for value in fields[6:10])
        confidence = min(1.0, max(0.0, float(fields[10]) / 100))
        word = Word(fields[11].strip(), left, top, left + width, top + height, confidence)
        rows.setdefault((int(fields[2]), int(fields[3]), int(fields[4])), []).append(word)
    paragraphs: dict[tuple[int, int], int] = {}
    return tuple(
        Line(tuple(words), paragraphs.setdefault((block, paragraph), len(paragraphs)), block)
        for (block, paragraph, _), words in rows.items()
    )


def _run(command: list[str], image: Image, timeout: float) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "PPM")
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        )
    except OSError as exc:
        raise _failed() from exc
    with process:
        # A parser worker may be killed while it waits here: then this ends its orphan.
        seconds = math.ceil(timeout) + 1
        with suppress(ProcessLookupError):
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (seconds, seconds))
        try:
            output, _ = process.communicate(buffer.getvalue(), timeout=timeout)
        except subprocess.TimeoutExpired:
            raise DeadlineExceeded(
                f"Reading one page image took longer than {timeout:.0f} s and was stopped.",
                reason="PARSE_TIMEOUT",
            ) from None
        finally:
            process.kill()
    if process.returncode != 0:
        raise _failed()
    return output.decode("utf-8", "replace")


def _failed() -> Internal:
    return Internal("The OCR program failed on a page image.", reason="PARSER_CRASHED")


def _environment() -> Mapping[str, str]:
    # One thread a page: tesseract's own threads cost more than they bring.
    return {**os.environ, "OMP_THREAD_LIMIT": "1", "LC_ALL": "C.UTF-8"}
