"""Two readings of one page at different sizes: of each word the one that was read more surely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ingest_svc.parsing.ocr.engine import Line, Word

# Boxes of one word in two readings cover each other by more than this share of their union.
_SAME_PLACE = 0.6


def best_of_two(lines: Sequence[Line], others: Sequence[Line], factor: float) -> tuple[Line, ...]:
    """`lines`, with the text of `others` where the same word was read more surely there.

    Args:
        lines: the reading that decides about lines, words and boxes.
        others: the other reading.
        factor: size of the image of `lines` over that of `others`.
    """
    rest = [word for line in others for word in line.words]
    return tuple(
        replace(line, words=tuple(_better(word, rest, factor) for word in line.words)) for line in lines
    )


def _better(word: Word, others: Sequence[Word], factor: float) -> Word:
    for other in others:
        if other.confidence > word.confidence and _overlap(word, other, factor) > _SAME_PLACE:
            return replace(word, text=other.text, confidence=other.confidence)
    return word


def _overlap(word: Word, other: Word, factor: float) -> float:
    """Intersection over union of the boxes, 0 to 1."""
    width = min(word.right, other.right * factor) - max(word.left, other.left * factor)
    height = min(word.bottom, other.bottom * factor) - max(word.top, other.top * factor)
    if width <= 0 or height <= 0:
        return 0.0
    one = (word.right - word.left) * (word.bottom - word.top)
    two = (other.right - other.left) * (other.bottom - other.top) * factor * factor
    return width * height / (one + two - width * height)
