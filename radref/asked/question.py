"""What kind of answer a question asks for.

A passage about the subject is not yet an answer: "how many days" wants a number of days, "wall thickness in
mm" a length that is called a thickness. English and Russian.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from radref.asked.attributes import attributes_of
from radref.asked.quantities import UNITS

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
    for name, units in UNITS.items()
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
    return Asked(tuple(kinds), attributes_of(query) if kinds else ())
