"""What kind of answer a question asks for, and whether a text holds one of that kind.

A passage about the subject is not yet an answer: "how many days" wants a number of days, "wall thickness in
mm" a length that is called a thickness. English and Russian.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

# Dimension -> units that may follow a number (or stand in its column's header).
_UNITS: Final = {
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
    name: re.compile(rf"{_NUMBER}{_GAP}(?<![^\W\d_]){units}(?!\w)") for name, units in _UNITS.items()
} | {
    "money": re.compile(rf"[$€£₽]\s?\d|{_NUMBER}{_GAP}{_UNITS['money']}(?!\w)", re.IGNORECASE),
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
_HEADED: Final = {name: re.compile(rf"(?<!\w){units}(?!\w)") for name, units in _UNITS.items()}

# What a quantity is called. A text that gives another one of the same dimension is no answer.
_ATTRIBUTES: Final = {
    "thickness": r"thick\w*|толщин\w*",
    "diameter": r"diamet\w*|calib\w*|wide|width|bore|диаметр\w*|ширин\w*|калибр\w*",
    "weight": r"weigh\w*|mass|вес\b|веса|весит|масс\w*",
    "half-life": r"half-?li\w*|полураспад\w*|полувыведен\w*",
    "volume": r"volum\w*|capacit\w*|объ[её]м\w*|[её]мкост\w*",
    "area": r"area|площад\w*",
    "distance": r"distanc\w*|away|apart|far|расстояни\w*|удалени\w*",
    "luminance": r"luminan\w*|brightness|яркост\w*",
    "temperature": r"temperatur\w*|heating|температур\w*",
    "frequency of doing": r"how often|как часто|периодичност\w*",
}

_QUESTIONS: Final = (
    (("time",), r"how (?:many|much) (?:\w+ ){0,2}(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b"),
    (
        ("time",),
        r"how (?:soon|quickly|old)|(?:at|by|from|after) (?:what|which) age|\bat what ages|half-?life"
        r"|deadline",
    ),
    (("time", "length"), r"\bhow long\b"),
    (("time", "when"), r"\bhow often\b|\bкак часто\b|\bпериодичност\w*"),
    (
        ("length",),
        r"\bhow (?:far|thick|wide|tall|deep|large|big)\b|\bhow many \w*met(?:er|re)s\b|\bhow many (?:mm"
        r"|cm)\b",
    ),
    (("length",), r"\b(?:thickness|diameter|calib(?:er|re)|width|distance)\b"),
    (("mass",), r"\bhow heavy\b|\bweight\b(?=.*\b(?:grams?|kg|g)\b)|\bin grams\b"),
    (
        ("money",),
        r"\bhow much (?:\w+ ){0,6}(?:cost|charge|pay|fine)|\bfees?\b|\bfine for\b|\bcivil fine\b|\bprice\b"
        r"|\bwhat does .* cost",
    ),
    (("percent",), r"\bwhat (?:percentage|per ?cent|share)\b|\bby (?:what|which) percent\w*"),
    (
        ("dose", "mass", "volume", "activity"),
        r"\b(?:what|which|how (?:much|large|high)|maximum|minimum|paediatric|pediatric) (?:\w+ ){0,4}dose\b",
    ),
    (
        ("number",),
        r"\bhow (?:many|much)\b|\b(?:threshold|cut-?off|ratio|upper limit|lower limit|normal (?:limits"
        r"|range|values?))\b",
    ),
    (
        ("number",),
        r"\b(?:minimum|maximum|lowest|highest|smallest|largest|min|max) (?:\w+ ){0,3}(?:\w*snr|number|limit"
        r"|value|level|sensitivity)\b",
    ),
    (
        ("number",),
        r"\b(?:at|above|below|beyond|from|over|under|up to|by) (?:what|which) (?:\w+ ){0,2}(?!way\b"
        r"|form\b)\w+\b",
    ),
    (
        ("number",),
        r"\b(?:which|what) (?:lowest|highest|smallest|largest|minimum|maximum|sound level|level)\b",
    ),
    (("time",), r"\b(?:follow-?up |screening )?interval\b(?! training)"),
    (("number",), r"\bfigures?\b please|\bcounts? per second\b"),
    (
        ("time",),
        r"(?:на |за |через |в течение |до |от )?(?:сколько|скольких|скольки) (?:\w+ ){0,2}(?:секунд\w*"
        r"|минут\w*|час\w*|дн\w+|сут\w*|недел\w*|месяц\w*|лет|год\w*)",
    ),
    (
        ("time",),
        r"с как(?:ого|их) (?:возраст\w*|лет)|в каком возрасте|какой срок|каков срок|как(?:ие|ой|ого) (?:\w+ "
        r")?срок|как долго|норм\w+ времени|полураспад",
    ),
    (
        ("time",),
        r"сколько (?:она|он|оно|они) (?:действу\w+|хран\w+|длит\w+)|сколько (?:действу\w+|хран\w+|ждать"
        r"|длит\w+)",
    ),
    (("money",), r"сколько (?:\w+ )?руб\w*|во сколько рублей|какой штраф|стоимост\w*|сколько стоит"),
    (("percent",), r"како[йв]\w* (?:\w+ )?процент\w*|сколько процентов"),
    (("dose",), r"(?:как\w+|предел\w*|наибольш\w+|эффективн\w+|эквивалентн\w+) (?:\w+ ){0,3}доз\w+"),
    (("length",), r"толщин\w*|диаметр\w*|расстояни\w*|сколько (?:милли|санти)?метр\w*"),
    (("area",), r"площад\w*"),
    (("number",), r"\bсколько\b|\bпорог\w*|\bпредел\w*|\bнорматив\w*|\bкаково? (?:\w+ )?значени\w+"),
    (("when",), r"\bwhen\b|\bкогда\b"),
)
_COMPILED: Final = tuple(
    (frozenset(kinds), re.compile(pattern, re.IGNORECASE)) for kinds, pattern in _QUESTIONS
)
# A unit that the question names as the one it wants: "in mm", "in gray", "в миллиметрах".
_WANTED_UNIT: Final = tuple(
    (
        name,
        re.compile(
            # ", in the unit we order" names no inch.
            rf"(?:\bin|\bв|,)\s(?=\w\w)(?!in\b){units}(?:[\s,?.]|\Z)",
            re.IGNORECASE if len(units) > 60 else 0,
        ),
    )
    for name, units in _UNITS.items()
    if name not in ("field", "concentration", "voltage", "pressure")
)
_WORDED: Final = {
    "dose": r"\bin (?:milli)?(?:gray|sieverts?)\b|\bв (?:милли)?(?:зивертах|греях)\b",
    "density": r"\bhounsfield\b|хаунсфилд",
    "luminance": r"\bcandelas?\b|кандел",
    "area": r"\bsquare met|квадратн\w+ метр",
    "length": r"\bmilli ?met(?:er|re)s\b|\bcentimet(?:er|re)s\b|\bmetres\b|миллиметрах|сантиметр\w*",
    "percent": r"\bpercentage\b|\bпроцент\b",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """Kinds of answer a question asks for.

    Attributes:
        kinds: one set for each thing asked; any dimension of a set will do. Empty: nothing countable is
        asked.
        attributes: names of quantities in the question; a text must use one of them for each.
    """

    kinds: tuple[frozenset[str], ...] = ()
    attributes: tuple[str, ...] = ()


def read_question(query: str) -> Asked:
    """What a question asks for."""
    kinds: dict[frozenset[str], None] = {}
    taken: list[tuple[int, int]] = []
    for names, pattern in _COMPILED:
        for match in pattern.finditer(query):
            # "how many days" is no plain "how many".
            if not any(start <= match.start() < end for start, end in taken):
                taken.append(match.span())
                kinds[names] = None
    wanted = {name for name, pattern in _WANTED_UNIT if pattern.search(query)}
    wanted |= {name for name, pattern in _WORDED.items() if re.search(pattern, query, re.IGNORECASE)}
    if wanted:
        kinds = {
            names: None for names in kinds if names & wanted or not names <= {"number", "time", "length"}
        }
        for name in sorted(wanted):
            if not any(name in names for names in kinds):
                kinds[frozenset({name})] = None
    if len(kinds) > 1:
        kinds.pop(frozenset({"number"}), None)
        kinds.pop(frozenset({"when"}), None)
    attributes = tuple(
        name for name, pattern in _ATTRIBUTES.items() if re.search(rf"\b(?:{pattern})", query, re.IGNORECASE)
    )
    return Asked(tuple(kinds), attributes if kinds else ())


def holds(text: str, header: str, names: frozenset[str]) -> bool:
    """Whether the text gives a number of one of these dimensions; the unit may stand in a table's header."""
    for name in names:
        if _HOLDS[name].search(text):
            return True
        if header and name in _HEADED and _HEADED[name].search(header) and re.search(r"\d", text):
            return True
    return False


def names_attribute(text: str, attribute: str) -> bool:
    """Whether the text speaks of the quantity ("thickness"), whatever it is called in English or Russian."""
    if attribute == "frequency of doing":
        return True
    return bool(re.search(rf"\b(?:{_ATTRIBUTES[attribute]})", text, re.IGNORECASE))
