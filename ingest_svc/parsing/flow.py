"""Hard-wrapped lines: which of them belong to one paragraph."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TERMINATED = re.compile(r"[.!?:;…]['\"”’»)\]]*\d{0,3}$")
_BULLET = re.compile(r"^(?:[-•·●▪■◦*–—]|o(?= [A-Z]))\s+(?=\S)")
_LONE_BULLET = re.compile(r"^[-•·●▪■◦*–—\uf0b7\uf0a7]$")
_ITEM_LABEL = re.compile(
    r"^(?:\d{1,3}[.)]|\(?[a-zа-я]\)|\(?[ivx]{1,5}\)|\(\d{1,3}\)|\([A-ZА-Я]\)|[a-zа-я]\.)\s+(?=\S)"
)
# Files written without wrapping have one paragraph a line; these are far longer than any typeset line.
_MAX_WRAPPED_WIDTH = 160


def is_terminated(line: str) -> bool:
    """True when a line ends like a sentence (a footnote number may follow)."""
    return _TERMINATED.search(line.rstrip()) is not None


def is_lone_bullet(line: str) -> bool:
    """A bullet whose text the converter put elsewhere."""
    return _LONE_BULLET.match(line.strip()) is not None


def bullet_text(line: str) -> str | None:
    """The text after a bullet sign, or None when the line has none."""
    match = _BULLET.match(line)
    return line[match.end() :] if match else None


def is_item(line: str) -> bool:
    """True for lines that begin with a list label: "•", "1.", "a)", "(iv)", "в)"."""
    return _BULLET.match(line) is not None or _ITEM_LABEL.match(line) is not None


def wrap_width(lines: Sequence[str]) -> int:
    """The width lines were wrapped at, code points; 0 when the text is not wrapped."""
    lengths = sorted(len(line) for line in lines if len(line) > 20)
    if not lengths:
        return 0
    width = lengths[int(0.9 * (len(lengths) - 1))]
    return width if width <= _MAX_WRAPPED_WIDTH else 0


def continues(line: str, following: str, width: int) -> bool:
    """True when `following`, the next line without a blank one between, goes on with the paragraph of `line`.

    A wrapped line breaks where the next word would not fit; a line that had room ended on purpose, unless
    the next one begins in the middle of a sentence. The slack of 0.8 is for proportional fonts.
    """
    if not width or is_item(following):
        return False
    first_word = following.split(maxsplit=1)[0] if following.split() else ""
    if len(line) + 1 + len(first_word) >= 0.8 * width:
        return True
    return not is_terminated(line) and (following[:1].islower() or following[:1] in "(,;")
