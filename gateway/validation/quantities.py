"""Reads the numbers of a text with what they count: "не более 88 мГр/мин" -> value 88, unit mGy, per min,
upper bound."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Final

from gateway.validation.measures import TIME_UNITS, TOKEN, join_phrases, unit_of
from gateway.validation.number_words import number_words


class Bound(StrEnum):
    """Which side of a number is meant."""

    NONE = ""
    UPPER = "upper"
    LOWER = "lower"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit.

    Attributes:
        values: possible readings, canonical; more than one where "1,000" may be 1000 or 1.
        unit: canonical unit; "ref" for a section or article number, "code" for letters with digits ("T12"),
            "" when no known unit follows.
        per: canonical unit of a denominator ("mGy/min", "per minute"), else "".
        bound: "at most", "at least", or neither.
        counted: an unknown word follows directly ("50 workers"), so it is no bare number.
        in_words: written as a word ("two").
    """

    values: frozenset[str]
    unit: str = ""
    per: str = ""
    bound: Bound = Bound.NONE
    counted: bool = False
    in_words: bool = False


_SPACE: Final = "[ \u00a0\u2009\u202f]"
_DASH: Final = "-‐‑‒–—−"
_SUPERSCRIPTS: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_VULGAR: Final = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅛": "1/8", "⅕": "1/5"}
_NUMBER: Final = re.compile(
    rf"""
      (?P<date>(?<!\w)(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}\.\d{{1,2}}\.\d{{4}})(?![\d.]))
    | (?P<code>(?<![\w/])(?:[A-Za-zА-Яа-яЁё]{{1,3}}[-‑]?\d+[A-Za-zА-Яа-я]{{0,2}}
               |\d{{1,4}}[a-z]?[A-Z][A-Za-z]{{0,3}}\d*[A-Z]*)(?!\w))
    | (?P<fraction>(?<![\w.,/])[1-9]/[1-9]\d?(?![\w/]|\.\d))
    | (?P<number>(?<!\w)(?<!\d[.,])(?:\d{{1,3}}(?:{_SPACE}\d{{3}})+(?!\d)|\d+)(?:[.,]\d+)*|(?<![\w.,])\.\d+)
      (?P<power>\^-?\d+|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)?
      (?P<suffix>[-‑](?:х|ти|ми|и|й|го|му|я|е|ое|ой|ый|ая|м|ом|ую|ого)(?!\w)|(?:st|nd|rd|th)(?!\w))?
    """,
    re.VERBOSE,
)
_QUALIFIER: Final = re.compile(
    rf"{_SPACE}?[-‑]?(?:(?P<work>working|business|work|рабочи[хемй]\w?|рабочего)|(?:calendar|full"
    rf"|consecutive|whole|complete|"
    r"календарны\w+|календарных|календарного|полны\w+|полных|astronomical))(?=[\s-])",
    re.IGNORECASE,
)
# "5 (пять) лет", "five (5) years"
_REPEATED: Final = re.compile(rf"{_SPACE}?\((?:[^\W\d_]+[ -]?){{1,3}}\)|\)(?={_SPACE}[^\W\d_])")
_UNIT: Final = re.compile(rf"(?:{_SPACE}|[-‑])?(?P<unit>{TOKEN})(?!\w)\.?")
_PER: Final = re.compile(
    rf"\s?(?P<how>/|[·∙⋅]|per(?!\w)|an?(?!\w)|in an?(?!\w)|in any(?: one)?(?!\w)|each|every|в|за)\s?(?:1\s)?"
    rf"(?P<unit>{TOKEN})(?!\w)",
    re.IGNORECASE,
)
_CONNECTOR: Final = re.compile(
    rf"\A\s?(?:[{_DASH}/×x]|,|;|to|and|or|nor|до|и|или|by|through)?\s?(?:and|or|и|или)?\s?\Z", re.IGNORECASE
)
_WORD: Final = re.compile(rf"{_SPACE}?(?P<word>[^\W\d_]+)")
_REFERENCE: Final = re.compile(
    r"(?:§+|№|\bsections?|\bsec\.|\bparts?|\barticles?|\bart\.|\bparagraphs?|\bsubparts?|\btables?"
    r"|\bfig(?:ure|\.)s?|\bchapters?|"
    r"\bappendix|\bannex|\bitems?|\bno\.|\bстать\w+|\bст\.|\bпункт\w*|\bп\.|\bчаст\w+|\bч\.|\bглав\w+"
    r"|\bраздел\w*|\bтаблиц\w+|"
    r"\bприложени\w+|\bрис\.|\bприказ\w*|\bn)\s?\(?\Z",
    re.IGNORECASE,
)
_STATUTE: Final = re.compile(rf"\A{_SPACE}?(?:CFR|U\.?S\.?C\.?|Fed\.? ?Reg\.?|FR|ФЗ)(?!\w)")
_FILL: Final = (
    r"(?:\s|\bof|\bthe|\ba|\ban|\babout|\bapproximately|\bthan|\bчем|\bна|\bв|\bis|\bare|\bby|[:$€£(])*\Z"
)
_BOUNDS: Final = tuple(
    (bound, re.compile(pattern + _FILL, re.IGNORECASE))
    for bound, pattern in (
        (
            Bound.UPPER,
            r"(?:\b(?:not|no|nor|never) (?:be )?(?:more|greater|higher|longer|later|to exceed"
            r"|exceed(?:ing)?|over|above)"
            r"|\bcannot exceed|n't exceed|\bне (?:более|больше|выше|свыше|превыша\w+|превыси\w+|позднее"
            r"|позже|старше|длиннее))",
        ),
        (
            Bound.LOWER,
            r"(?:\b(?:not|no|nor) (?:be )?(?:less|fewer|lower|under|below|shorter|earlier|younger)"
            r"|\bне (?:менее|меньше|ниже|короче|ранее|раньше|моложе))",
        ),
        (
            Bound.UPPER,
            r"(?:\b(?:at most|up to|less|fewer|under|below|lower|maximum|within|younger)|[<≤⩽]"
            r"|\b(?:менее|меньше|ниже|максимум|младше|моложе|до))",
        ),
        (
            Bound.LOWER,
            r"(?:\b(?:at least|more|greater|over|above|higher|exceed(?:s|ing)?|minimum|older)|[>≥⩾]"
            r"|\b(?:более|больше|выше|свыше|старше|минимум|превыша\w+))",
        ),
    )
)
_STOP_WORDS: Final = frozenset(
    "a an the and or of in on at to by for from with as is are was were be been if when then than not no "
    "nor per but it "
    "и в во на с со к о об от до по за из для не ни но а или что как при после".split()
)
_MONTHS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"jan(?:uary)?|январ\w*",
        r"feb(?:ruary)?|феврал\w*",
        r"mar(?:ch)?|март\w?",
        r"apr(?:il)?|апрел\w*",
        r"may|ма[йяе]|маем",
        r"june?|июн\w*",
        r"july?|июл\w*",
        r"aug(?:ust)?|август\w?",
        r"sept?(?:ember)?|сентябр\w*",
        r"oct(?:ober)?|октябр\w*",
        r"nov(?:ember)?|ноябр\w*",
        r"dec(?:ember)?|декабр\w*",
    )
)
_MONTH_BEFORE: Final = re.compile(r"([A-Za-z]{3,9})\.?\s\Z")
_SCALES: Final = {"thousand": 1000, "million": 10**6, "billion": 10**9}
_CURRENCIES: Final = {"$": "USD", "€": "EUR", "£": "GBP", "₽": "RUB"}
# Formulas that a writer may put for a name without counting anything.
_FORMULAS: Final = frozenset({"co2", "h2o", "o2", "n2", "spo2", "po2", "pco2"})
_CYRILLIC: Final = re.compile(r"[а-яА-ЯёЁ]")
# Citation marks and the enumerator of the statement itself are no content.
_MARKS: Final = re.compile(r"\[\d{1,2}(?:\s?[,;–-]\s?\d{1,2})*\]|\A\s*\(?\d{1,2}[.)]\s+(?=\S)")


def is_cyrillic(text: str) -> bool:
    """Whether most letters are Cyrillic; decides if "1,500" has a decimal comma."""
    head = text[:4000]
    return 2 * len(_CYRILLIC.findall(head)) > sum(map(str.isalpha, head))


def quantities(text: str, *, decimal_comma: bool, strip_marks: bool = False) -> list[Quantity]:
    """All numbers of a text in reading order, digits and words.

    Args:
        decimal_comma: the text is of a language with decimal commas, so "1,500" may be 1.5.
        strip_marks: leave out citation marks like "[2]" and a leading enumerator "1.".
    """
    return [placed.quantity for placed in place_quantities(_prepare(text, strip_marks), decimal_comma)]


@dataclass(frozen=True, slots=True)
class PlacedQuantity:
    """A quantity with its range [start, end) in a prepared text; the unit lies inside where it follows."""

    start: int
    end: int
    quantity: Quantity


def prepare(text: str) -> str:
    """The text as numbers are read in it: marks and line wraps taken out. Changes offsets."""
    return _prepare(text, strip_marks=False)


def place_quantities(prepared: str, decimal_comma: bool) -> list[PlacedQuantity]:
    """As `quantities`, of a text from `prepare`, each with its place."""
    found: list[PlacedQuantity] = []
    for match in _NUMBER.finditer(prepared):
        found.extend(PlacedQuantity(*entry) for entry in _read(prepared, match, decimal_comma))
    lower = prepared.lower().replace("ё", "е")
    if len(lower) == len(prepared):
        for start, end, value in number_words(lower):
            quantity, stop = _measure(prepared, end, Quantity(frozenset({str(value)}), in_words=True))
            bound = _bound(prepared[max(0, start - 40) : start])
            found.append(PlacedQuantity(start, stop, replace(quantity, bound=bound)))
    found.sort(key=lambda placed: placed.start)
    return _share_units(prepared, found)


def mentions_unit(text: str, unit: str) -> bool:
    """Whether the unit stands anywhere in the text, with or without a number ("Limit (rem)")."""
    prepared = _prepare(text, strip_marks=False)
    wanted = "day" if unit == "workday" else unit
    return any(
        unit_of(token) == wanted for token in re.findall(rf"(?<![A-Za-zА-Яа-яёЁ]){TOKEN}(?!\w)", prepared)
    )


def _prepare(text: str, strip_marks: bool) -> str:
    text = re.sub(r"[\u00ad\u200b-\u200d\u2060\ufeff]", "", text)
    # A wrapped line parts a number from its unit or month; a number below a number is another one.
    text = re.sub(r"(?<![\n|])\r?\n(?=[^\W\d_])|(?<=[^\W\d_])[ \t]*\r?\n(?=\d)", " ", text)
    if strip_marks:
        text = _MARKS.sub(" ", text)
    text = re.sub(r"<sup>\s*(-?[−\d]+)\s*</sup>", r"^\1", text, flags=re.IGNORECASE)
    text = re.sub(r"</?\w{1,6}\s?/?>", " ", text)
    text = re.sub(r"[*`\\]+|(?<!\w)_+|_+(?!\w)", "", text)
    text = re.sub(r"[½⅓⅔¼¾⅛⅕]", lambda match: " " + _VULGAR[match.group()] + " ", text)
    text = re.sub(rf"(\d){_SPACE}?[xх×]{_SPACE}?(?=\d)", r"\1 × ", text)
    return join_phrases(text)


def _read(text: str, match: re.Match[str], decimal_comma: bool) -> list[tuple[int, int, Quantity]]:
    start, end = match.span()
    if date := match.group("date"):
        parts = date.split("-")[::-1] if "-" in date else date.split(".")
        day, month, year = (int(part) for part in parts)
        return [
            (start, end, Quantity(frozenset({str(day)}), unit=f"month{month}")),
            (end, end, Quantity(frozenset({str(year)}))),
        ]
    if code := match.group("code"):
        return _read_code(code, start, end)
    if fraction := match.group("fraction"):
        above, below = (int(part) for part in fraction.split("/"))
        if above < below < 11:
            quantity, stop = _measure(text, end, Quantity(frozenset({fraction})))
            return [(start, stop, quantity)]
        quantity, stop = _measure(text, end, Quantity(frozenset({str(below)})))
        return [(start, start + 1, Quantity(frozenset({str(above)}))), (start + 2, stop, quantity)]
    return _read_number(text, match, decimal_comma)


def _read_code(code: str, start: int, end: int) -> list[tuple[int, int, Quantity]]:
    plain = re.sub(r"[-‑]", "", code).casefold()
    glued = re.fullmatch(r"(\d+)([A-Za-z]+)", code)
    if glued and (unit := unit_of(glued.group(2))):
        return [(start, end, Quantity(frozenset({str(int(glued.group(1)))}), unit=unit))]
    if plain in _FORMULAS or (re.fullmatch(r"[^\W\d]+[23]", code) and unit_of(code)):
        return []
    return [(start, end, Quantity(frozenset({plain}), unit="code"))]


def _read_number(text: str, match: re.Match[str], decimal_comma: bool) -> list[tuple[int, int, Quantity]]:
    numeral, start = match.group("number"), match.start()
    before = text[max(0, start - 60) : start]
    if power := match.group("power"):
        exponent = power.lstrip("^").translate(_SUPERSCRIPTS)
        value = f"{_canonical(numeral)}^{exponent}"
        quantity, stop = _measure(text, match.end(), Quantity(frozenset({value})))
        return [(start, stop, quantity)]
    readings = _readings(numeral, decimal_comma)
    if not readings:
        parts = re.split(r"[.,]", numeral)
        return [(start, match.end(), Quantity(frozenset({_canonical(part)}))) for part in parts if part]
    if re.search(r"(?:\A|[\s(\[|<>≤≥=])[-−–]\Z", before) and not re.search(r"\d\s?[-−–]\Z", before):
        readings = frozenset("-" + value for value in readings)
    quantity = Quantity(readings)
    if _REFERENCE.search(before) or _STATUTE.match(text, match.end()) or _STATUTE.match(text[match.end() :]):
        return [(start, match.end(), replace(quantity, unit="ref"))]
    quantity, stop = _measure(text, match.end(), quantity)
    if month := _month(before, text[match.end() :], numeral):
        quantity = replace(quantity, unit=month, counted=False)
    elif re.fullmatch(r"1[89]\d\d|2[01]\d\d", numeral) and quantity.unit in ("", "year", "g"):
        quantity = replace(quantity, unit="", counted=False)
        stop = match.end()
    if not quantity.unit and (currency := re.search(r"([$€£₽])\s?\Z", before)):
        quantity = replace(quantity, unit=_CURRENCIES[currency.group(1)], counted=False)
    return [(start, stop, replace(quantity, bound=_bound(before)))]


def _readings(numeral: str, decimal_comma: bool) -> frozenset[str]:
    plain = re.sub(_SPACE, "", numeral)
    if plain.isdigit():
        return frozenset({_canonical(plain)})
    if re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", plain):
        values = {_canonical(plain.replace(",", ""))}
        if decimal_comma and re.fullmatch(r"\d+,\d{3}", plain):
            values.add(_canonical(plain.replace(",", ".")))
        return frozenset(values)
    if re.fullmatch(r"[1-9]\d{0,2}(?:\.\d{3}){2,}|[1-9]\d{0,2}(?:\.\d{3})+,\d+", plain):
        return frozenset({_canonical(plain.replace(".", "").replace(",", "."))})
    if re.fullmatch(r"\d*[.,]\d+", plain):
        return frozenset({_canonical(plain.replace(",", "."))})
    if re.fullmatch(r"\d+(?:\.\d+){2,}", plain):
        return frozenset({plain})
    return frozenset()


def _canonical(numeral: str) -> str:
    """3.50 -> 7/2: equal numbers become equal strings."""
    plain = re.sub(_SPACE, "", numeral).replace(",", ".")
    return str(Fraction("0" + plain if plain.startswith(".") else plain))


def _measure(text: str, end: int, quantity: Quantity) -> tuple[Quantity, int]:
    """The quantity with the unit that follows at `end`, and where that ends."""
    position = end
    if repeated := _REPEATED.match(text, position):
        position = repeated.end()
    working = False
    if qualifier := _QUALIFIER.match(text, position):
        position = qualifier.end()
        working = bool(qualifier.group("work"))
    match = _UNIT.match(text, position)
    unit = _unit_here(text, match) if match else None
    if match and unit in _SCALES:
        scaled = frozenset(_scale(value, _SCALES[unit]) for value in quantity.values)
        return _measure(text, match.end(), replace(quantity, values=scaled))
    if not match or unit is None:
        word = _WORD.match(text, end)
        counted = bool(word and len(word["word"]) > 2 and word["word"].lower() not in _STOP_WORDS)
        return replace(quantity, counted=counted), end
    if working and unit == "day":
        unit = "workday"
    per, stop = "", match.end()
    if (ratio := _PER.match(text, match.end())) and (below := _unit_here(text, ratio)):
        symbolic = ratio["how"] in "/·∙⋅" or ratio["how"].lower() == "per"
        if symbolic or (below in TIME_UNITS and unit not in TIME_UNITS):
            per, stop = below, ratio.end()
    return replace(quantity, unit=unit, per=per), stop


def _unit_here(text: str, match: re.Match[str]) -> str | None:
    token = match["unit"]
    # "с" is seconds or "with", "A" is ampere or an article: a word behind it tells.
    if token in ("с", "С", "A", "А", "В") and re.match(
        r"\s[^\W\d_]{2,}", text[match.end() : match.end() + 4]
    ):
        return None
    return unit_of(token)


def _scale(value: str, factor: int) -> str:
    try:
        return str(Fraction(value) * factor)
    except ValueError:
        return value


def _month(before: str, after: str, numeral: str) -> str:
    """ "month7" for "7 July" and "July 7"; "" when no month touches the number."""
    if not numeral.isdigit() or not 1 <= int(numeral) <= 31:
        return ""
    names = [
        match.group(1)
        for match in (re.match(r"\s([^\W\d_]{3,9})", after), _MONTH_BEFORE.search(before))
        if match
    ]
    for name in names:
        for index, pattern in enumerate(_MONTHS, start=1):
            if pattern.fullmatch(name) and (name[0].isupper() or name.lower() != "may"):
                return f"month{index}"
    return ""


def _bound(before: str) -> Bound:
    return next((bound for bound, pattern in _BOUNDS if pattern.search(before)), Bound.NONE)


def _share_units(text: str, found: list[PlacedQuantity]) -> list[PlacedQuantity]:
    """ "5-10 mSv", "5, 10 and 15 mSv": the last unit is everybody's."""
    shared: list[PlacedQuantity] = []
    following: PlacedQuantity | None = None
    for placed in reversed(found):
        quantity = placed.quantity
        if (
            following is not None
            and not quantity.unit
            and not quantity.counted
            and following.quantity.unit not in ("", "ref", "code")
            and not following.quantity.unit.startswith("month")
            and placed.end <= following.start
            and _CONNECTOR.match(text[placed.end : following.start])
        ):
            unit, per = following.quantity.unit, following.quantity.per
            placed = replace(placed, quantity=replace(quantity, unit=unit, per=per))
        shared.append(placed)
        following = placed
    return shared[::-1]
