"""Whether a few words are Russian: short tables and labels are too short for letter frequencies."""

from __future__ import annotations

import re

from ingest_svc.parsing.orthography import is_plausible_russian

# Cyrillic units with a capital inside, and abbreviations without a vowel: no Russian words by their letters.
_KNOWN = frozenset(
    "мЗв мкЗв нЗв сЗв Зв мГр мкГр сГр нГр Гр Бк кБк МБк ГБк ТБк Ки мКи мкКи Р мР мкР Кл кВ мВ мкВ мА "
    "мАс мкА эВ кэВ МэВ Вт мВт кВт Гц кГц МГц ГГц Тл мТл Дж кДж Н Па кПа МПа К г кг мг мкг нг л мл дл м "
    "см мм мкм нм дм км с мс мин ч сут нед мес лет год шт руб кт мрт мскт пэт узи экг ээг дсв ККТ ОФЭКТ "
    "КТ МРТ МСКТ ПЭТ УЗИ ЭКГ ЭЭГ РФ ФИО СКТ КЛКТ РХПГ ФЛГ".split()
)
_WORD = re.compile(r"[^\W\d_]+")
_RUSSIAN = re.compile(r"[а-яё]+|[А-ЯЁ][а-яё]+|[А-ЯЁ]+")
# Signs that stand beside Russian words in the three code pages.
_SIGNS = frozenset("«»№–—“”„…\u00a0°·±§²√≤≥≈÷•")
_MIN_LETTERS = 3
# One word can be Russian by chance: a Greek or Hebrew word of five letters in koi8-r was.
_MIN_WORDS = 2


def is_russian(text: str) -> bool:
    """True when every word with Cyrillic letters in it may be Russian, and a unit or two different ones are.

    A word is certain when it is a unit or an abbreviation of the field, or when it has three letters and its
    trigrams are Russian (see `orthography`). Shorter ones say nothing but must be written as words are.
    """
    certain = _certain_words(text)
    return certain is not None and certain >= _MIN_WORDS


def may_be_russian(text: str) -> bool:
    """True unless a word with Cyrillic letters in it, or a sign, says that this is another code page."""
    return _certain_words(text) is not None


def without_units(text: str) -> str:
    """The text without units and abbreviations, whose letters and capitals are not those of words."""
    return _WORD.sub(lambda found: "" if found.group() in _KNOWN else found.group(), text)


def has_abbreviations(text: str) -> bool:
    """True when the words with Cyrillic letters in it may be Russian and one is a unit or an abbreviation of
    two letters and more."""
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    return may_be_russian(text) and any(len(word) > 1 and word in _KNOWN for word in words)


def _certain_words(text: str) -> int | None:
    """How many words are certain, a unit with a capital inside as two; None for another code page."""
    others = {char for char in text if ord(char) > 127 and not char.isalpha()}
    if not others <= _SIGNS:
        return None
    certain = 0
    for word in set(_WORD.findall(text)):
        if word.isascii():
            continue
        if word in _KNOWN:
            certain += 2 * (len(word) >= _MIN_LETTERS or any(map(str.isupper, word[1:])))
        elif not _RUSSIAN.fullmatch(word):
            return None
        elif len(word) >= _MIN_LETTERS:
            if not is_plausible_russian(word):
                return None
            certain += 1
    return certain
