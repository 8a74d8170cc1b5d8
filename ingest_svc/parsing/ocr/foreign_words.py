"""A second look at single words of another script: engines reading two languages take "be" for "Бе"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from PIL import Image

from ingest_svc.parsing.ocr.engine import Line, Word

_CYRILLIC_LANGUAGES = frozenset({"rus", "ukr", "bel", "bul", "srp", "mkd", "kaz", "tat"})
# The script that most of the page is in.
_MAIN_SCRIPT = 0.7
# Measured with tesseract 5.3: Latin terms read as Cyrillic reach 0.75, words of the page's own script 0.84.
_SURE = 0.8
# Letters of one alphabet that look like letters of the other: such a word gives no evidence of its script.
_LOOKALIKES = frozenset("ABCEHKMOPTXYaceopxyАВСЕНКМОРТХУасеорхуЗз0123456789.,:;()-/%")
_SURE_LOOKALIKE = 0.4
_MAX_LINES = 60
_GAP = 24
_PADDING = 6

ReadStack = Callable[[Image.Image, Sequence[str]], tuple[Line, ...]]


def second_look(
    lines: tuple[Line, ...], image: Image.Image, languages: Sequence[str], read: ReadStack
) -> tuple[Line, ...]:
    """Lines whose words of the page's rarer script were read again in the languages of its main script.

    The new reading is taken where it is sure, or at least as sure as the first: a real foreign word ("MRI" in
    a Russian text) reads badly in the wrong alphabet.

    Args:
        lines: what the engine read in all `languages`.
        image: what it read it from.
        read: reads a stack of lines in the given languages.
    """
    main = [name for name in languages if (name in _CYRILLIC_LANGUAGES) == _is_cyrillic_page(lines)]
    if not main or len(main) == len(languages) or not _has_main_script(lines):
        return lines
    cyrillic = main[0] in _CYRILLIC_LANGUAGES
    doubtful = [
        at for at, line in enumerate(lines) if any(_is_foreign(word, cyrillic) for word in line.words)
    ]
    if not doubtful or len(doubtful) > _MAX_LINES:
        return lines
    stack, tops = _stacked(image, [lines[at] for at in doubtful])
    again = [word for line in read(stack, main) for word in line.words]
    result = list(lines)
    for at, top in zip(doubtful, tops, strict=True):
        result[at] = _corrected(lines[at], top, again, cyrillic)
    return tuple(result)


def _letters(lines: Sequence[Line]) -> tuple[int, int]:
    """Cyrillic letters, all letters."""
    letters = [char for line in lines for char in line.text if char.isalpha()]
    return sum(_cyrillic(char) for char in letters), len(letters)


def _is_cyrillic_page(lines: Sequence[Line]) -> bool:
    cyrillic, total = _letters(lines)
    return cyrillic > total / 2


def _has_main_script(lines: Sequence[Line]) -> bool:
    cyrillic, total = _letters(lines)
    return total > 0 and max(cyrillic, total - cyrillic) >= _MAIN_SCRIPT * total


def _cyrillic(char: str) -> bool:
    return "\u0400" <= char <= "\u04ff"


def _is_foreign(word: Word, cyrillic_page: bool) -> bool:
    return any(char.isalpha() and _cyrillic(char) != cyrillic_page for char in word.text)


def _stacked(image: Image.Image, lines: Sequence[Line]) -> tuple[Image.Image, list[int]]:
    """The lines cut out, one under the other at their own x, and their tops in the stack."""
    crops = [
        image.crop((0, max(0, line.top - _PADDING), image.width, min(image.height, line.bottom + _PADDING)))
        for line in lines
    ]
    stack = Image.new("L", (image.width, sum(crop.height + _GAP for crop in crops) + _GAP), 255)
    tops: list[int] = []
    y = _GAP
    for line, crop in zip(lines, crops, strict=True):
        # Only the line itself: what stands beside it in another column stays out.
        left, right = max(0, line.left - _PADDING), min(image.width, line.right + _PADDING)
        stack.paste(crop.crop((left, 0, right, crop.height)), (left, y))
        tops.append(y)
        y += crop.height + _GAP
    return stack, tops


def _corrected(line: Line, top: int, again: Sequence[Word], cyrillic: bool) -> Line:
    bottom = top + line.bottom - line.top + 2 * _PADDING
    slot = [word for word in again if top - _GAP / 2 <= (word.top + word.bottom) / 2 <= bottom + _GAP / 2]
    words: list[Word] = []
    for word in line.words:
        better = _better(word, slot) if _is_foreign(word, cyrillic) else None
        words.append(better or word)
    return replace(line, words=tuple(words))


def _better(word: Word, slot: Sequence[Word]) -> Word | None:
    found = [other for other in slot if word.left <= (other.left + other.right) / 2 <= word.right]
    if not found:
        return None
    # Words that reach beyond the box would bring their neighbours along.
    if found[0].left < word.left - 8 or max(other.right for other in found) > word.right + 8:
        return None
    # A box over two lines of text holds words of both.
    if max(other.top for other in found) >= min(other.bottom for other in found):
        return None
    letters = sum(max(1, other.letters) for other in found)
    sure = sum(other.confidence * max(1, other.letters) for other in found) / letters
    if sure < min(word.confidence, _SURE_LOOKALIKE if set(word.text) <= _LOOKALIKES else _SURE):
        return None
    text = " ".join(other.text for other in sorted(found, key=lambda other: other.left))
    return replace(word, text=text, confidence=sure)
