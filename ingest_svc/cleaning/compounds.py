"""Whether a hyphen at a line end belongs to the word: "dose-" + "dependent", but "radio-" + "logy".

Typesetting cuts words at syllables, writers join words; where the document itself does not tell (see
`hyphens`), these rules of English, German and Russian spelling do. In doubt a word counts as cut, which is by
far the more frequent case in typeset text.
"""

from __future__ import annotations

import re

_VOWELS = re.compile("[aeiouyäöüáéíóúàèùâêîôûаеёиоуыэюя]")
# Shorter halves are syllables ("ine-quality"), but for these words.
_MIN_LEFT = 4
_SHORT_FIRST = frozenset({"age", "air", "gas", "ion", "low", "sex"})

# Words that English writes solid with each other and never with a hyphen ("with-out", "there-fore").
_FUNCTION_WORDS = frozenset(
    "with within out in into to on onto up upon there where here fore for by of from at as after through "
    "over under any every some no one thing things body time times ever never the less more how what who "
    "him her it them our your my self selves other others wise though all ready ways can not be because "
    "come side ward wards mean while when so further".split()
)

# Bound forms: with what follows they make one word unless the document writes them with a hyphen.
_BOUND = frozenset(
    "anti auto bio cardio co counter cyber de dis electro endo extra fore hydro hyper hypo im in infra "
    "inter intra ir macro magneto mal mega meta micro mis mono multi nano neuro out over para photo physio "
    "poly post pre pro pseudo radio re retro semi sub super tele therm thermo trans ultra un under "
    "uni".split()
)

# First parts that take a hyphen before any word.
_ALWAYS_FIRST = frozenset({"non", "self"})

# Second parts: the solid words that end in them begin with a bound form (independent, unweighted).
_SECOND_PARTS = frozenset(
    "adjusted assisted attenuation averse based certified coded contrast controlled corrected dependent "
    "detector directed driven effective emitting energy enhanced equivalent frequency guided independent "
    "induced intensive limited limiting mounted negative operated oriented positive quality resistant "
    "resolution sensitive shielded specific threshold weighted".split()
)

# Abbreviations that have vowels and so could be syllables; those without are told by that.
_ABBREVIATIONS = frozenset({"mri", "pet", "spect", "узи", "пэт", "офэкт", "экг", "ээг"})

# The stem of an adjective before another adjective: "магнитно-резонансный", "медико-санитарный". A noun
# before -о- is written solid and has a vowel there: "рентгеноконтрастный", "гормонорезистентный".
_RUSSIAN_FIRST = re.compile(r"[а-яё]{2,}(?:[бвгджзйклмнпрстфхцчшщьъ]но|(?<!вел)ико)")
_RUSSIAN_SECOND = re.compile(
    r"(?!лог|граф|грам|метр|скоп|терап|ген|том|пат|мер|вед|крат|сторон|образн|знач|уров)"
    r"[а-яё]{3,}(?:ый|ий|ой|ая|яя|ое|ее|ые|ие|ого|его|ому|ему|ым|им|ых|их|ую|юю|ыми|ими|ом|ем)"
)
_MIN_RUSSIAN_SECOND = 7


def is_function_word(word: str) -> bool:
    """True for "to", "of", "with": such a word in a chain of hyphens is a link of it. Lower case."""
    return word in _FUNCTION_WORDS


def is_solid(left: str, right: str) -> bool:
    """True for two halves that are never written with a hyphen: "with-" + "out". Lower case."""
    return left in _FUNCTION_WORDS and right in _FUNCTION_WORDS


def is_bound(left: str) -> bool:
    """True for a form that is no word by itself: "pre", "inter", "electro". Lower case."""
    return left in _BOUND


def is_compound(left: str, right: str) -> bool:
    """True for two halves that spelling joins with a hyphen, whatever the document says. Lower case."""
    if _is_abbreviation(left) or _is_abbreviation(right) or left in _ALWAYS_FIRST:
        return True
    if right in _SECOND_PARTS and left not in _BOUND and (len(left) >= _MIN_LEFT or left in _SHORT_FIRST):
        return True
    return (
        len(right) >= _MIN_RUSSIAN_SECOND
        and _RUSSIAN_FIRST.fullmatch(left) is not None
        and _RUSSIAN_SECOND.fullmatch(right) is not None
    )


def _is_abbreviation(word: str) -> bool:
    """ "ct", "кт": no typesetter leaves letters without a vowel alone."""
    return word in _ABBREVIATIONS or _VOWELS.search(word) is None
