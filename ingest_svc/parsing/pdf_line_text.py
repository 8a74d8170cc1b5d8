"""Words of one row to text: word spaces, words that only a change of font parts, superscripts."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence

from ingest_svc.parsing.pdf_model import Word
from ingest_svc.parsing.scripts import superscript

# Share of the font size by which a raised character is smaller than its neighbours.
_RAISED_SIZE = 0.85
_SPACED_OUT = re.compile(r"^[^\W\d_]$")


def main_size(words: Sequence[Word]) -> float:
    """The most common font size of the characters, in half points."""
    sizes: Counter[float] = Counter()
    for word in words:
        sizes[round(word.size * 2) / 2] += len(word.text)
    return max(sizes, key=lambda size: (sizes[size], size))


def line_text(words: Sequence[Word]) -> str:
    """Text of the words of one row, left to right."""
    words = _letters_joined(words)
    size = main_size(words)
    full = [word for word in words if word.size >= _RAISED_SIZE * size]
    baseline = max(word.bottom for word in full)
    text = ""
    for at, word in enumerate(words):
        gap = word.x0 - words[at - 1].x1 if at else 0.0
        close = at > 0 and gap < 0.15 * size
        raised = word.size < _RAISED_SIZE * size and word.bottom < baseline - 0.15 * size
        if raised and close:
            text += superscript(text[-1:], word.text)
        elif not text or (close and _split_by_font(words[at - 1], word, gap)):
            text += word.text
        else:
            text += f" {word.text}"
    return text


def _split_by_font(before: Word, word: Word, gap: float) -> bool:
    """A word is parted where its font changes; without a space between it is one word."""
    changed = before.font != word.font or before.size != word.size
    return changed and gap < 0.1 * word.size


def _letters_joined(words: Sequence[Word]) -> Sequence[Word]:
    """ "S U M M A R Y" set with wide letter spaces is one word; five letters in a row are no initials."""
    if sum(_SPACED_OUT.match(word.text) is not None for word in words) < 5:
        return words
    result: list[Word] = []
    run: list[Word] = []

    def close() -> None:
        if len(run) >= 5:
            first, last = run[0], run[-1]
            result.append(
                Word(
                    "".join(word.text for word in run),
                    first.x0,
                    min(word.top for word in run),
                    last.x1,
                    max(word.bottom for word in run),
                    first.size,
                    first.font,
                    first.bold,
                )
            )
        else:
            result.extend(run)
        run.clear()

    for word in words:
        if _SPACED_OUT.match(word.text):
            gaps = [after.x0 - before.x1 for before, after in itertools.pairwise(run)]
            gap = word.x0 - run[-1].x1 if run else 0.0
            if run and (gap > 1.2 * word.size or (gaps and gap > 1.8 * max(gaps))):
                close()
            run.append(word)
        else:
            close()
            result.append(word)
    close()
    return result
