"""Bullets, which engines read as whatever letter or sign is round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ingest_svc.parsing.ocr.engine import Line

BULLET = "•"
# What tesseract makes of •, ●, ○, ▪ and ■ (seen in practice).
_SIGNS = frozenset("•·●○▪■◦*®©¢°»«¤¥§")
_LOOKALIKES = frozenset("eoOоОеЕ0QaBm")
_MAX_DRIFT = 1.0


def with_bullets(lines: Sequence[Line], size: float) -> tuple[Line, ...]:
    """Lines whose first word is a misread bullet get a "•" there.

    Signs that text never begins with are bullets. Round letters are only where a line above or below, at the
    same left edge, begins with such a sign.
    """
    signed = [_starts_with(line, _SIGNS) for line in lines]
    result: list[Line] = []
    for at, line in enumerate(lines):
        bullet = signed[at]
        if not bullet and _starts_with(line, _LOOKALIKES):
            bullet = any(
                signed[other] and abs(lines[other].left - line.left) <= _MAX_DRIFT * size
                for other in range(max(0, at - 6), min(len(lines), at + 7))
            )
        result.append(_marked(line) if bullet else line)
    return tuple(result)


def _starts_with(line: Line, signs: frozenset[str]) -> bool:
    first = line.words[0].text
    return len(line.words) >= 2 and len(first) == 1 and first in signs


def _marked(line: Line) -> Line:
    return replace(line, words=(replace(line.words[0], text=BULLET), *line.words[1:]))
