"""Specks, rules and pictures that an engine took for letters."""

from __future__ import annotations

from dataclasses import replace

from ingest_svc.parsing.ocr.engine import Line, Word, confidence
from ingest_svc.parsing.ocr.sizes import body_size

# Chosen so that noise, dirt and rules give nothing while faint pages stay; whole pages of tesseract 5.3 lie
# at 0.85 and more, turned the wrong way at 0.3 to 0.5.
_MIN_LINE = 0.35
_MIN_SHORT_LINE = 0.6
_MIN_SYMBOL = 0.5
_SHORT = 3
# A page needs one word like this to count as text at all.
_MIN_SEEN_WORD = 0.6
_MIN_PAGE = 0.35
_BULLETS = frozenset("•·●▪■◦*-–—«®©¢°»")


def without_noise(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Lines without specks; () when nothing on the page is text.

    Doubtful words inside a readable line stay: leaving a word out would change what the line says.
    """
    size = body_size(lines)
    kept: list[Line] = []
    for line in lines:
        words = _trimmed(line, size)
        if words and not _is_noise(replace(line, words=words)):
            kept.append(replace(line, words=words))
    return tuple(kept) if is_text(tuple(kept)) else ()


def is_text(lines: tuple[Line, ...]) -> bool:
    """True when at least one word was read with some confidence and the page as a whole is no guess."""
    seen = any(
        word.confidence >= _MIN_SEEN_WORD and sum(char.isalnum() for char in word.text) >= 2
        for line in lines
        for word in line.words
    )
    return seen and confidence(lines) >= _MIN_PAGE


def _trimmed(line: Line, size: float) -> tuple[Word, ...]:
    """Without symbols at the line's ends that are rules, frames or dirt: unsure, or far too tall or wide."""
    words = list(line.words)
    while words and _is_speck(words[-1], size):
        words.pop()
    while words and _is_speck(words[0], size) and words[0].text[0] not in _BULLETS:
        words.pop(0)
    return tuple(words)


def _is_speck(word: Word, size: float) -> bool:
    if word.letters:
        return False
    tall = size > 0 and (word.bottom - word.top > 2.5 * size or word.right - word.left > 6 * size)
    return tall or word.confidence < _MIN_SYMBOL or set(word.text) <= set("|_~—=-¦[]{}'`.")


def _is_noise(line: Line) -> bool:
    letters = sum(word.letters for word in line.words)
    if letters == 0:
        return True
    sure = confidence((line,))
    return sure < _MIN_LINE or (letters < _SHORT and sure < _MIN_SHORT_LINE)
