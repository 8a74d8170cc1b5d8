"""Numbers with units, by dimension: what a question may ask for and a text may give. English, Russian."""

from __future__ import annotations

import re
from typing import Final

# Dimension -> units that may follow a number (or stand in its column's header).
UNITS: Final = {
    "time": r"(?:calendar |working |business |full |рабочи\w+ |календарн\w+ |полных )?"
    r"(?:ms|msec|s|sec|seconds?|min|minutes?|h|hr|hours?|days?|weeks?|months?|years?|мс|сек\w*|мин|минут\w*"
    r"|час\w{0,3}|дн(?:я|ей|ям|ях)"
    r"|день|сут\w+|недел\w+|месяц\w*|год\w{0,2}|лет|г\b|с\b|ч\b)",
    "length": r"(?:nm|µm|μm|um|mm|cm|m|km|in|inch(?:es)?|ft|feet|(?:milli|centi|kilo|nano|micro)?met(?:er"
    r"|re)s?|нм|мкм|мм|см|м|км"
    r"|(?:милли|санти|кило)?метр\w*)",
    "area": r"(?:[cm]?m\s?[2²]|[см]?м\s?[2²]|sq(?:uare|\.)? ?\w+|кв\w*\.? ?\w+)",
    "volume": r"(?:µ?l|m[lL]|dL|L|cc|[cm]m\s?[3³]|(?:milli)?lit(?:er|re)s?|мл|л|(?:милли)?литр\w*|см\s?[3³])",
    "mass": r"(?:ng|µg|μg|mcg|mg|g|kg|lbs?|pounds?|(?:milli|micro|kilo)?grams?|мкг|мг|г|кг|(?:милли|микро"
    r"|кило)?грамм\w*)",
    "dose": r"(?:[mµμn]?Sv|[mµμnc]?Gy|m?rem|m?rads?|m?R|(?:milli|micro)?(?:sieverts?|grays?)|r(?:oe|o"
    r"|ö)ntgens?|м?к?Зв|м?к?с?Гр|бэр"
    r"|(?:милли|микро)?(?:зиверт\w*|гр[еэ]\w*)|рентген\w*)",
    "activity": r"(?:[kMG]?Bq|[mµμ]?Ci|[кМГ]?Бк|м?к?Ки|(?:mega|giga|kilo)?becquerels?|(?:milli"
    r"|micro)?curies?)",
    "field": r"(?:m?T|teslas?|gauss|G|м?Тл|тесла|гаусс\w*)",
    "money": r"(?:dollars?|rubles?|euros?|USD|руб\w*|доллар\w*|евро|тыс\w*|млн)",
    "percent": r"(?:%|per ?cent|процент\w*)",
    "temperature": r"(?:°\s?[CCFС]|℃|degrees?|градус\w*)",
    "sound": r"(?:dBA?|decibels?|дБА?|децибел\w*)",
    "density": r"(?:HU|hounsfield\w*|ед\.? ?Н|хаунсфилд\w*)",
    "luminance": r"(?:cd|кд|candelas?|кандел\w*|lux|lx|лк)",
    "concentration": r"(?:m?M|[mµμ]?mol|ммоль|мкмоль|mEq|mg|g|мг|г)",
    "pressure": r"(?:mm ?Hg|k?M?Pa|мм ?рт\w*|к?М?Па)",
    "frequency": r"(?:[kMG]?Hz|[кМГ]?Гц|hertz|герц\w*)",
    "voltage": r"(?:m?k?Vp?|k?e?V|м?к?В|(?:kilo|milli)?volts?|(?:кило)?вольт\w*)",
}
_NUMBER: Final = (
    r"(?:\d[\d.,\u00a0 ]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen"
    r"|twenty|thirty|forty|fifty|sixty"
    r"|ninety|hundred|half|од(?:ин|на|ного|ной)|дв(?:а|е|ух)|тр(?:и|ех|ёх)|четыре\w*|пят[ьи]\w*|шест[ьи]\w*"
    r"|сем[ьи]|восем[ьи]|восьми"
    r"|девят[ьи]\w*|десят[ьи]|двадцат[ьи]\w*|тридцат[ьи]\w*|сорока?|ста?|двести))"
)
_GAP: Final = rf"\s?[)\]]?(?:\s?[-‐‑–—]\s?|\s?(?:to|or|and|до|или|и|x|×)\s)?(?:{_NUMBER})?[-‐‑ \u00a0]?\s?\(?"
_HOLDS: Final = {
    name: re.compile(rf"{_NUMBER}{_GAP}(?<![^\W\d_]){units}(?!\w)") for name, units in UNITS.items()
} | {
    "money": re.compile(rf"[$€£₽]\s?\d|{_NUMBER}{_GAP}{UNITS['money']}(?!\w)", re.IGNORECASE),
    "number": re.compile(_NUMBER, re.IGNORECASE),
    "when": re.compile(
        rf"{_NUMBER}|\b(?:when|after|before|within|upon|until|annual\w*|daily|monthly|weekly|once|twice"
        r"|every|each|per"
        r"|immediately|prior|during|при|после|до|перед|ежегодн\w*|ежедневн\w*|ежемесячн\w*|кажд\w+|раз\w?"
        r"|немедленно|в течение|в день"
        r"|день|незамедлительно|одновременно)\b",
        re.IGNORECASE,
    ),
}
_HEADED: Final = {name: re.compile(rf"(?<!\w){units}(?!\w)") for name, units in UNITS.items()}


def holds(text: str, header: str, names: frozenset[str]) -> bool:
    """Whether the text gives a number of one of these dimensions; the unit may stand in a table's header."""
    for name in names:
        if _HOLDS[name].search(text):
            return True
        if header and name in _HEADED and _HEADED[name].search(header) and re.search(r"\d", text):
            return True
    return False
