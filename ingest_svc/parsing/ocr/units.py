"""Units of measure that an engine wrote in letters of the other alphabet: "20 m3b" is "20 мЗв".

Engines that read Russian and English together choose the alphabet by the words around, and a unit is too
short to tell. A number with a wrong unit is worse than a wrong word, so after a number a word whose letters
have the shapes of a unit, and which is no word itself, becomes that unit. The confusions were seen with
tesseract 5.3 on pages of 46 units in two faces; those that spell something else are left alone: "шт" (mm, or
pieces), "ст" (cm, or article).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ingest_svc.parsing.ocr.engine import Line, Word

_SIEVERT = "(?:3З|ЗЗ|З|3|з)[вbBВ]"
_M, _G, _Y, _V = "[mшщт]", "[GСC6б]", "[yу]", "[vуУ]{1,2}"
# What is matched whole, letter by letter, and the unit.
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(shape), unit)
    for shape, unit in (
        (f"[мmM]{_SIEVERT}", "мЗв"),
        (f"[мmM][кkK]{_SIEVERT}", "мкЗв"),
        ("МЭВ", "МэВ"),
        ("КЭВ|кЭВ", "кэВ"),
        ("МГи", "МГц"),
        (f"{_M}[S5]{_V}", "mSv"),
        (f"[µμи][S5]{_V}", "µSv"),
        (f"{_M}{_G}{_Y}", "mGy"),
        (f"[cс]{_G}{_Y}", "cGy"),
        (f"[GС]{_Y}", "Gy"),
        ("[kкК][VУ]", "kV"),
        (f"{_M}[AА]", "mA"),
        (f"{_M}[AА][s$ѕ]", "mAs"),
        (f"{_M}[gд]", "mg"),
        ("[MМ][BВ][qа]", "MBq"),
        ("[MМ][eеЕ][VУ]", "MeV"),
        ("[kк][eеЕ][VУ]", "keV"),
        ("[HН][UИ]", "HU"),
        ("[PР][bЬь]", "Pb"),
    )
)
_KNOWN = frozenset(
    "мЗв мкЗв Зв мГр мкГр сГр Гр кВ мА мАс мг мкг г мл л мм см м Бк кБк МБк ГБк кэВ МэВ Гц кГц МГц Тл ч мин "
    "с сут mSv µSv μSv Sv mGy µGy μGy cGy Gy kV kVp mA mAs mg µg μg g mL ml mm cm m Bq kBq MBq GBq keV MeV "
    "Hz MHz HU T Pb h min s".split()
)
# The dose-length product; no other unit has these letters, and engines do not know the dot.
_DOSE_LENGTH = re.compile(r"(мГр|сГр|Гр)[-:.*](см)")
_TOMOGRAPHY = re.compile(r"РЕТ([/-])СТ")
_NUMBER = re.compile(r"\d[)\]]?$")
_PARTS = re.compile(r"[^\W_]+[$]?")
# Measured: units that were read right lie at 0.44 and more, those that lost a letter at 0.34.
_UNSURE = 0.4


def with_units(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Lines with the units restored that stand after a number or a comma."""
    return tuple(replace(line, words=_restored(line.words)) for line in lines)


def unsure_units(lines: Sequence[Line]) -> bool:
    """Some number has a unit that was read with very low confidence: a prefix may be missing."""
    return any(
        word.confidence < _UNSURE and _NUMBER.search(before.text) is not None and _head(word.text) in _KNOWN
        for line in lines
        for before, word in zip(line.words, line.words[1:], strict=False)
    )


def restored(text: str) -> str:
    """A word where a unit is expected; every part of it that is one ("m3b" of "m3b/год") is restored."""
    text = _DOSE_LENGTH.sub(r"\1·\2", text)
    return _PARTS.sub(lambda part: _unit(part.group()), text)


def _restored(words: Sequence[Word]) -> tuple[Word, ...]:
    result: list[Word] = []
    for word in words:
        text = _TOMOGRAPHY.sub(r"PET\1CT", word.text)
        before = result[-1].text if result else ""
        if _NUMBER.search(before) or before.endswith(",") or before.strip(".,;()") in _KNOWN:
            text = restored(text)
        result.append(replace(word, text=text) if text != word.text else word)
    return tuple(result)


def _unit(part: str) -> str:
    if part in _KNOWN:
        return part
    return next((unit for shape, unit in _SHAPES if shape.fullmatch(part)), part)


def _head(text: str) -> str:
    first = _PARTS.search(text)
    return first.group() if first else ""
