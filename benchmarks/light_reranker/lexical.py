"""Features of a question and a parent that need their words only: what a reranker could compute by itself."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.light_reranker.records import Found
from inference_svc.generators.extractive.lexical import Stems

FEATURES = (
    "window_coverage",
    "window_bigrams",
    "window_bm25",
    "parent_coverage",
    "parent_bm25",
    "parent_bm25_own_idf",
    "heading_coverage",
    "numbers",
    "quantity",
)
# About 80 tokens of English, 100 of Russian: a few sentences or table rows, the size of what answers.
WINDOW_WORDS = 60
WINDOW_STEP = 20
# As the index's BM25 (Robertson and Zaragoza 2009; Paper A).
K1, B = 1.2, 0.75
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# Asks for a number: the answer's window should hold one.
_ASKS_NUMBER = re.compile(
    r"\b(?:how (?:many|much|long|often|soon|far|old|high|low|large|big|thick)|what (?:percent|share|dose"
    r"|limit|age|size|range|values?)|minimum|maximum|limits?|dose|figures?|normal)\b"
    r"|скольк|какой предел|какая доза|как часто|как долго|предел|норм|срок|максим|миним",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Text:
    """A parent as stems, in windows."""

    stems: list[str]
    windows: list[list[str]]
    frequencies: list[Counter[str]]
    heading: frozenset[str]


def lexical_features(record: Found, parents: int) -> list[list[float]]:
    """FEATURES of each of the first `parents` parents, 0-1 but for BM25 (>= 0).

    Rarity is counted over the windows of all these parents together, since a reranker sees nothing else; for
    `parent_bm25_own_idf` over the parents themselves.
    """
    stems = Stems()
    texts = [
        _read(stems, parent.text, f"{parent.title} {' '.join(parent.section_path)}")
        for parent in record.parents[:parents]
    ]
    asked = stems.of(record.query)
    windows = [window for text in texts for window in text.frequencies]
    wholes = [Counter(text.stems) for text in texts]
    weights = {stem: _idf(stem, windows) for stem in dict.fromkeys(asked)}
    coarse = {stem: _idf(stem, wholes) for stem in weights}
    window_size = _mean([sum(window.values()) for window in windows])
    parent_size = _mean([len(text.stems) for text in texts])
    numbers = set(_NUMBER.findall(record.query))
    wants_number = bool(_ASKS_NUMBER.search(record.query))
    rows = []
    for text, whole, parent in zip(texts, wholes, record.parents[:parents], strict=True):
        best = max(range(len(text.windows)), key=lambda at: _coverage(weights, text.frequencies[at]))
        held = set(_NUMBER.findall(parent.text)) if numbers else set()
        rows.append(
            [
                _coverage(weights, text.frequencies[best]),
                max(_bigrams(asked, weights, window) for window in text.windows),
                max(_bm25(weights, window, window_size) for window in text.frequencies),
                _coverage(weights, whole),
                _bm25(weights, whole, parent_size),
                _bm25(coarse, whole, parent_size),
                _coverage(weights, text.heading),
                len(numbers & held) / len(numbers) if numbers else 0.0,
                float(wants_number and any(stem[0].isdigit() for stem in text.windows[best])),
            ]
        )
    return rows


def _read(stems: Stems, text: str, heading: str) -> _Text:
    own = stems.of(text)
    last = max(0, len(own) - WINDOW_WORDS + WINDOW_STEP - 1)
    windows = [own[start : start + WINDOW_WORDS] for start in range(0, last + 1, WINDOW_STEP)]
    return _Text(own, windows, [Counter(window) for window in windows], frozenset(stems.of(heading)))


def _idf(stem: str, windows: Sequence[Counter[str]]) -> float:
    """As the index's BM25, over windows."""
    holding = sum(stem in window for window in windows)
    return math.log1p((len(windows) - holding + 0.5) / (holding + 0.5))


def _coverage(weights: dict[str, float], held: Counter[str] | frozenset[str]) -> float:
    total = sum(weights.values())
    return sum(weight for stem, weight in weights.items() if stem in held) / total if total else 0.0


def _bigrams(asked: Sequence[str], weights: dict[str, float], window: Sequence[str]) -> float:
    """Share of neighbouring pairs of the question whose second word follows the first within four words."""
    places: dict[str, list[int]] = {}
    for at, stem in enumerate(window):
        if stem in weights:
            places.setdefault(stem, []).append(at)
    total = got = 0.0
    for first, second in itertools.pairwise(asked):
        weight = weights[first] + weights[second]
        total += weight
        if any(0 < b - a <= 4 for a in places.get(first, ()) for b in places.get(second, ())):
            got += weight
    return got / total if total else 0.0


def _bm25(weights: dict[str, float], held: Counter[str], mean_size: float) -> float:
    norm = K1 * (1 - B + B * sum(held.values()) / mean_size) if mean_size else K1
    return sum(weight * held[stem] * (K1 + 1) / (held[stem] + norm) for stem, weight in weights.items())


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values) if values else 0.0
