"""Language of a text by script and stop words."""

from __future__ import annotations

import re
from collections import Counter

# The most frequent function words of each language that the others do not share.
_STOP_WORDS = {
    "en": frozenset(
        "the of and to is that for with be are this by not which from or have may must shall".split()
    ),
    "de": frozenset(
        "der die und das ist nicht mit von den des auf ein eine werden bei oder durch zur keine".split()
    ),
    "fr": frozenset("le la les des est une du dans qui pour par sur avec sont aux cette ou pas".split()),
    "es": frozenset("el los las una del que por con para como más sus entre este esta también".split()),
    "it": frozenset("il lo gli della che per una con sono del nella non più alla dei come".split()),
}
_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 200_000
# Ten stop words are a few sentences; below that, headings and names decide, and those are often foreign.
_MIN_STOP_WORDS = 10
_MIN_LETTERS = 60
# Letters that Russian does not have.
_NOT_RUSSIAN = re.compile("[іїєґўәғқңөұүһ]", re.I)


def detect_language(text: str) -> str:
    """BCP 47 tag ("en", "ru", "de", "fr", "es", "it"), or "" when unsure."""
    sample = text[:_SAMPLE]
    letters = Counter(
        "cyrillic" if "\u0400" <= char <= "\u04ff" else "latin" if char < "\u0250" else "other"
        for char in sample
        if char.isalpha()
    )
    total = sum(letters.values())
    if total < _MIN_LETTERS:
        return ""
    if letters["cyrillic"] > 0.5 * total:
        foreign = len(_NOT_RUSSIAN.findall(sample))
        return "ru" if foreign < 0.005 * letters["cyrillic"] else ""
    if letters["latin"] < 0.7 * total:
        return ""
    words = Counter(word.lower() for word in _WORD.findall(sample))
    hits = {tag: sum(words[word] for word in stop) for tag, stop in _STOP_WORDS.items()}
    (best, count), (_, second) = sorted(hits.items(), key=lambda item: -item[1])[:2]
    if count >= _MIN_STOP_WORDS and count >= 1.5 * second:
        return best
    # Forms and templates have few sentences; a clear lead with umlauts is still German.
    german = len(re.findall("[äöüß]", sample))
    return "de" if best == "de" and count > second and german >= 0.003 * total else ""
