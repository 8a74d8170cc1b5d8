"""Makes the trigram files of `ingest_svc.parsing.orthography`.

    pip install pyspellchecker pymorphy3        # in a venv of their own; radref needs neither
    python benchmarks/orthography_model.py ingest_svc/parsing/trigrams

A trigram is kept when it makes up at least 2 in a million of the trigrams of a language, each word counted
1 + log10 of its frequency. What that keeps of clean and of damaged words stands in docs/parsing.md.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.resources
import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

LATIN = "abcdefghijklmnopqrstuvwxyz"
ALPHABETS = {
    "en": LATIN,
    "de": LATIN + "äöüß",
    "fr": LATIN + "àâæçèéêëîïôœùûüÿ",
    "es": LATIN + "áéíñóúü",
    "it": LATIN + "àèéìîòóù",
    "ru": "абвгдежзийклмнопрстуфхцчшщъыьэюя",
}
LEAST_SHARE = 2e-6
# Every third form is enough: the forms of one word stand side by side.
FORM_STEP = 3


def main() -> int:
    """Writes LANGUAGE.txt into the folder, for each language."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    for language, alphabet in ALPHABETS.items():
        counts = _weighted(language, frozenset(alphabet))
        if language == "ru":
            forms = _forms(frozenset(alphabet))
            factor = sum(counts.values()) / forms.total()
            for trigram, count in forms.items():
                counts[trigram] += count * factor
        least = LEAST_SHARE * sum(counts.values())
        followers: defaultdict[str, list[str]] = defaultdict(list)
        for trigram in sorted(trigram for trigram, count in counts.items() if count >= least):
            followers[trigram[:2]].append(trigram[2])
        lines = [f"{start}:{''.join(ends)}" for start, ends in sorted(followers.items())]
        (folder / f"{language}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(language, sum(len(ends) for ends in followers.values()), "trigrams")
    return 0


def trigrams(word: str) -> Iterator[str]:
    """Trigrams of a lower-case word with its begin and end."""
    padded = f"^{word}$"
    return (padded[at : at + 3] for at in range(len(padded) - 2))


def _weighted(language: str, alphabet: frozenset[str]) -> dict[str, float]:
    resource = importlib.resources.files("spellchecker") / "resources" / f"{language}.json.gz"
    frequencies = json.loads(gzip.decompress(resource.read_bytes()))
    counts: defaultdict[str, float] = defaultdict(float)
    for raw, frequency in frequencies.items():
        word = raw.replace("ё", "е")
        if set(word) <= alphabet:
            for trigram in trigrams(word):
                counts[trigram] += 1 + math.log10(frequency)
    return counts


def _forms(alphabet: frozenset[str]) -> Counter[str]:
    from pymorphy3 import MorphAnalyzer

    counts: Counter[str] = Counter()
    for at, raw in enumerate(MorphAnalyzer().dictionary.words.iterkeys()):
        word = raw.replace("ё", "е")
        if at % FORM_STEP == 0 and set(word) <= alphabet:
            counts.update(trigrams(word))
    return counts


if __name__ == "__main__":
    sys.exit(main())
