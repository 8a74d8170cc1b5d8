"""How much of a text is spelt like its language: low for OCR garbage and for text in a wrong encoding.

A word is plausible when its letter trigrams are those of the language (see `trigrams`). That says nothing of
right spelling, and a rare term or a name may fail; it tells text from garbage, over many words.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from importlib import resources

LANGUAGES = ("en", "de", "fr", "es", "it", "ru")
_LATIN = ("en", "de", "fr", "es", "it")
# Below that one odd name changes the score by more than 3 %.
MIN_WORDS = 30
# Long documents are sampled: this many windows of this many characters, evenly spread.
_WINDOWS = 10
_WINDOW = 30_000
# A compound joins words with letters that stand side by side nowhere else: one unknown trigram is let pass.
_LONG_WORD = 10
_MIN_LETTERS = 3
_MIN_CAPITALS = 7

_TOKEN = re.compile(r"\S+")
_NOT_PROSE = re.compile(r"https?://|www\.|@|\\|^[#|>`]+$|\.(?:com|org|net|gov|de|ru)\b", re.I)
_WORD = re.compile(r"[^\W\d_]+")
# Signs that no one writes between two letters; read in a wrong code page half of the bytes become such.
_SIGN_INSIDE = re.compile(
    r"[^\W\d_][¡¢£¤¥¦§¨©ª«¬®¯°±²³´¶¸¹º»¼½¾¿×÷€‚ƒ„“”…†‡ˆ‰‹›•˜™!?#$%^*<>|~"
    r"\u2500-\u25ff\ufffd]+[^\W\d_]|(?:[–—≠≤≥≈∞∆√∂∑∏№][^\W\d_]){3}"
)
_DIGIT_INSIDE = re.compile(r"[a-zа-яё]{2}\d[a-zа-яё]|(?<![^\W\d_])[a-zа-яё]\d[a-zа-яё]{2}")
_CASE_FLIP = re.compile(r"[a-zß-öø-ÿа-яѐ-џ][A-ZÀ-ÖØ-ÞЀ-ЏА-Я]")
_VOWEL = re.compile(r"[aeiouyàâäæèéêëîïìíòóôöœùúûüÿáаеиоуыэюяё]")
# Cyrillic read as Western text: nothing but accented letters. No language writes so.
_ONLY_ACCENTS = re.compile("[\u00c0-\u00ff]{3,}")
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_RUSSIAN = re.compile("[а-я]+")


def orthography_score(text: str, language: str) -> float | None:
    """Share of words that look like words of the language, 0 to 1; None when fewer than 30 can be judged.

    Judged are words of three letters and more. Not judged: numbers, units, abbreviations (capitals, or no
    vowel), addresses, and words with letters of none of the six languages. Clean prose scores above 0.9, text
    in a wrong encoding below 0.5.

    Args:
        text: plain text or Markdown.
        language: tag of the document's language (en, de, fr, es, it, ru); another one or "" lets a Latin
            word be of any of the five. Latin words may always be English, Cyrillic ones are taken as Russian:
            documents quote terms and names.
    """
    good = bad = 0
    for token, count in Counter(_TOKEN.findall(_sample(text))).items():
        verdict = _judge(token, language)
        if verdict is not None:
            good += verdict * count
            bad += (not verdict) * count
    judged = good + bad
    return good / judged if judged >= MIN_WORDS else None


def is_plausible_russian(word: str) -> bool:
    """True for a word of Cyrillic letters, in any case, whose trigrams are Russian and that has a vowel."""
    lower = word.lower().replace("ё", "е")
    return _VOWEL.search(lower) is not None and _plausible(lower, "ru")


def _sample(text: str) -> str:
    if len(text) <= _WINDOWS * _WINDOW:
        return text
    step = len(text) // _WINDOWS
    return " ".join(text[at * step : at * step + _WINDOW] for at in range(_WINDOWS))


def _judge(token: str, language: str) -> bool | None:
    """True for plausible, False for implausible, None for what is not judged."""
    if _NOT_PROSE.search(token):
        return None
    token = token.strip("*_~`#|>()[]{}«»“”„\"'.,;:!?…")
    if _SIGN_INSIDE.search(token) or _DIGIT_INSIDE.search(token):
        return False
    verdicts = [verdict for word in _WORD.findall(token) if (verdict := _word(word, language)) is not None]
    return all(verdicts) if verdicts else None


def _word(word: str, language: str) -> bool | None:
    if len(word) < _MIN_LETTERS:
        return None
    if len(_CASE_FLIP.findall(word)) >= 2 or _ONLY_ACCENTS.fullmatch(word):
        return False
    if word.isupper() and len(word) < _MIN_CAPITALS:
        return None
    lower = word.lower().replace("ё", "е")
    if _CYRILLIC.search(lower):
        if _RUSSIAN.fullmatch(lower):
            return _plausible(lower, "ru") if _VOWEL.search(lower) else None
        # Both alphabets in one word; letters of another Cyrillic alphabet alone are another language.
        return False if re.search("[a-z]", lower) and len(lower) > _MIN_LETTERS else None
    if not _VOWEL.search(lower) or not all(char in _latin_letters() for char in lower):
        return None
    own = (language, "en") if language in _LATIN else ("en",) if language == "ru" else _LATIN
    return any(_plausible(lower, tag) for tag in own)


def _plausible(lower: str, language: str) -> bool:
    known = _trigrams(language)
    padded = f"^{lower}$"
    unknown = sum(padded[at : at + 3] not in known for at in range(len(padded) - 2))
    return unknown <= (len(lower) >= _LONG_WORD)


@cache
def _trigrams(language: str) -> frozenset[str]:
    text = (resources.files("ingest_svc.parsing.trigrams") / f"{language}.txt").read_text("utf-8")
    return frozenset(line[:2] + end for line in text.splitlines() for end in line[3:])


@cache
def _latin_letters() -> frozenset[str]:
    return frozenset(char for tag in _LATIN for trigram in _trigrams(tag) for char in trigram)
