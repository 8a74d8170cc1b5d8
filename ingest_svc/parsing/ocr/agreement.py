"""Whether a generative model read the page or made one up.

The first engine's sure words are the witnesses: letter for letter they come from the ink, while a language
model that hallucinates writes a fluent page of its own. A second reading is taken only when it says what the
witnesses say, when it does not say much more than there are letters on the page, and when it does not run in
circles. Without enough witnesses nothing can be checked, and nothing is taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ingest_svc.document import Block
from ingest_svc.parsing.ocr.engine import Word

_WITNESS = 0.8
_MIN_WITNESSES = 8
# Of the words the first engine is sure of. On pages it read badly some of those are wrong themselves;
# a page on another subject shares the function words only.
_MIN_SHARED = 0.7
_MIN_NUMBERS = 3
_MIN_SHARED_NUMBERS = 0.8
_MAX_GROWTH = 2.5
_FREE_LETTERS = 200
# Language models in a loop repeat the same words; tables of measured values do not reach this share.
_MAX_REPEATED = 0.5
_GRAM = 6
_TOKEN = re.compile(r"[^\W_]+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Agreement:
    """The verdict, and for a rejection its cause in words for the reviewer."""

    agrees: bool
    cause: str = ""


def agreement(words: Sequence[Word], blocks: Sequence[Block]) -> Agreement:
    """Compares a second reading with the words of the first.

    Args:
        words: the first reading, with confidences.
        blocks: the second reading.
    """
    answer = [token for block in blocks for token in _tokens(block.text)]
    if not answer:
        return Agreement(False, "it is empty")
    sure = [token for word in words if word.confidence >= _WITNESS for token in _tokens(word.text)]
    witnesses = [token for token in sure if _is_number(token) or len(token) >= 3]
    if len(witnesses) < _MIN_WITNESSES:
        return Agreement(False, "too little of the page is certain to check it")
    if _shared(witnesses, answer) < _MIN_SHARED:
        return Agreement(False, "it does not hold the words that are certain")
    numbers = [token for token in witnesses if _is_number(token)]
    if len(numbers) >= _MIN_NUMBERS and _shared(numbers, answer) < _MIN_SHARED_NUMBERS:
        return Agreement(False, "it does not hold the numbers that are certain")
    seen = sum(len(token) for word in words for token in _tokens(word.text))
    if sum(map(len, answer)) > _MAX_GROWTH * seen + _FREE_LETTERS:
        return Agreement(False, "it is much longer than the page")
    if _repeated(answer) > _MAX_REPEATED:
        return Agreement(False, "it repeats itself")
    return Agreement(True)


def _tokens(text: str) -> list[str]:
    return [match.group().lower() for match in _TOKEN.finditer(text)]


def _is_number(token: str) -> bool:
    return len(token) >= 2 and token[0].isdigit()


def _shared(witnesses: Sequence[str], answer: Sequence[str]) -> float:
    """Share of the witnesses that stand in the answer, each as often as it stands there."""
    common = Counter(witnesses) & Counter(answer)
    return sum(common.values()) / len(witnesses)


def _repeated(answer: Sequence[str]) -> float:
    grams = [tuple(answer[at : at + _GRAM]) for at in range(len(answer) - _GRAM + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0
