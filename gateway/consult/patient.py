"""Age, sex and pregnancy as a scenario tells them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORD_VALUES = {
    **{word: value for value, word in enumerate(_SMALL)},
    **{word: 10 * (place + 2) for place, word in enumerate(_TENS)},
}
_UNDER = rf"(?:\d{{1,3}}|{'|'.join((*_TENS, *sorted(_SMALL, key=len, reverse=True)))})"
_UNIT_OF_AGE = r"(?P<unit>years?|yrs?|y|months?|mths?|mo|weeks?|wks?|days?)"
_OLD = r"(?:[-\s]*(?:of\s+age|olds?|o\b|/\s*o\b|\.\s*o\.?))"
_AGES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # 45-year-old, 45 yo, 45 y/o, six-year-old, 18 months old
        rf"(?<![\w.,/])(?P<age>{_UNDER}(?:[-\s](?:one|two|three|four|five|six|seven|eight|nine))?)[-\s]*{_UNIT_OF_AGE}{_OLD}",
        # aged 45, age: 45, age 45
        rf"\baged?[:\s]+(?P<age>{_UNDER}(?:[-\s](?:one|two|three|four|five|six|seven|eight|nine))?)(?:\s*{_UNIT_OF_AGE})?\b",
        # woman of 34
        rf"\b(?:wom[ae]n|m[ae]n|lady|gentleman|male|female|patient|girl|boy|child)\s+of\s+(?P<age>{_UNDER})\b",
        # 28F, 58 M, 34-y F
        # (a capital where it stands apart: "walks 100 m" is no age)
        r"(?<![\w.,/])(?P<age>[1-9]\d?)\s?(?:y(?:rs?)?)?[\s-]?(?-i:[FM])\b(?![/'’])",
        r"(?<![\w.,/])(?P<age>[1-9]\d)(?:y(?:rs?)?)?(?:f|m)\b(?![/'’])",
        r"(?<![\w/'’])(?:f|m)\s*/?\s*(?P<age>\d{2})(?![\w/.,]\d)\b",
        # I'm 38; woman 60 y; 40/M; 36 yr/M; 52 yrs lady; 44 J. (Jahre)
        r"\bI(?:['’]m| am) (?P<age>\d{1,3})\b(?!\s*(?:weeks?|wks?|days?|hours?|months?|kg|cm|%|/))",
        rf"\b(?:wom[ae]n|m[ae]n|lady|gentleman|male|female|patient)\s+(?P<age>{_UNDER})\s*(?P<unit>y(?:rs?|ears?)?|j)\b",
        r"(?<![\w.,/])(?P<age>\d{1,3})\s*(?:y(?:rs?|ears?)?)?\s*/\s*(?:m|f|male|female)\b",
        r"(?<![\w.,/])(?P<age>\d{1,3})\s*(?:yrs?|years?|y)\s+(?:old\s+)?(?:lady|gentleman|wom[ae]n|m[ae]n|female|male)\b",
        r"(?<![\w.,/])(?P<age>\d{2})\s*j\b\.?",
        # Student of 19 years; lump, 21 yrs; gravida 4, 36 years
        r"(?:^|,\s*|\bof\s+)(?P<age>\d{2})\s*(?P<unit>years|yrs|y)\b(?!\s*(?:ago|history|hx|of|later|back|duration))",
        # woman, 34, ... ; 34 year male ; 45yr woman
        r"(?<![\w.,/])(?P<age>\d{1,3})[-\s]*(?P<unit>years?|yrs?|y)[-\s]*(?:(?:wo)?man|female|male|lady|gentleman|girl|boy|lad)\b",
        r"\b(?:wom[ae]n|m[ae]n|lady|gentleman|male|female|pt|patient|girl|boy)\s*[,(]\s*(?P<age>\d{1,3})\b(?!\s*(?:/|weeks?|days?|months?|hours?|%|°))",
        # 82-year old without a hyphen before old; in his 60s
        r"\bin\s+(?:his|her|their)\s+(?:early\s+|mid[-\s]*|late\s+)?(?P<age>\d0)(?:'?s)\b",
        # женщина 35 лет, Ж., 64 г., 8-летний мальчик, возраст 40 лет
        r"\b(?:женщин\w*|мужчин\w*|пациент\w*|больн\w+|мальчик\w*|девочк\w*|реб[её]н\w*|девушк\w*|юнош\w*|возраст\w*"
        r"|[жм]\.?)[\s,(]+(?P<age>\d{1,3})\s*(?:год\w*|лет|г\b)",
        r"(?<![\w.,/])(?P<age>\d{1,3})[-\s]*летн\w+",
        r"^(?P<age>\d{1,3})\s*(?:год\w*|лет)\b",
        r"\bin\s+(?:his|her|their)\s+(?:early\s+|mid[-\s]*|late\s+)?(?P<age>twent|thirt|fort|fift|sixt|sevent|eight|ninet)ies\b",
    )
)
_DECADES = {
    "twent": 20, "thirt": 30, "fort": 40, "fift": 50, "sixt": 60, "sevent": 70, "eight": 80, "ninet": 90,
}  # fmt: skip
_DAYS = {"y": 365.25, "j": 365.25, "m": 30.4, "w": 7.0, "d": 1.0}

_FEMALE = re.compile(
    r"\b(?:she|her|hers|herself|wom[ae]n|female|lady|girl|mother|mum|mom|housewife|waitress|pregnan\w*|gravid\w*|"
    r"postpartum|miss|mrs|ms|primigravida|multigravida|primip\w*|multip\w*)\b|(?<![\w])\d{1,3}\s*(?:y(?:rs?|o)?)?[\s-]*f\b|"
    r"(?<!['’])\bf\s*/?\s*\d{2}\b|\b(?:женщин\w*|пациентк\w*|девочк\w*|девушк\w*|беременн\w*|больная)\b|^ж\b",
    re.IGNORECASE,
)
_MALE = re.compile(
    r"\b(?:he|his|him|himself|m[ae]n|male|gentleman|boy|father|dad|mr|lad|guy|bloke)\b|"
    r"(?<![\w])\d{1,3}\s*(?:y(?:rs?|o)?)?[\s-]*m\b|(?<!['’])\bm\s*/?\s*\d{2}\b|"
    r"\b(?:мужчин\w*|мальчик\w*|юнош\w*|больной)\b|^м\b",
    re.IGNORECASE,
)
# Another person's sex tells nothing of the patient's.
_OTHERS = re.compile(
    r"\b(?:her|his|my|the|a)\s+(?:mother|father|mum|mom|dad|wife|husband|sister|brother|aunt|uncle|son|daughter|partner)\b|"
    r"\b(?:mother|father|mum|mom|dad|sister|brother|wife|husband|aunt|uncle)\s+(?:had|has|with|died|of|says|said|reports|states|noticed)\b|"
    r"\b(?:maternal|paternal)\s+\w+",
    re.IGNORECASE,
)

_WHOSE = re.compile(r"\b(?:her|his|their|my)\s+$", re.IGNORECASE)
_RELATIVE = re.compile(
    r"\b(?<!new )(?<!expectant )(?<!nursing )(?<!young )(?<!single )"
    r"(?:(?:grand)?(?:mother|father|ma|pa)|mum|mom|dad|sister|brother|aunt|uncle|son|daughter|cousin|parents?)"
    r"\b(?! of\b)",
    re.IGNORECASE,
)


class Sex(StrEnum):
    """As told."""

    FEMALE = "female"
    MALE = "male"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Told:
    """An age in years (a fraction under 2), and the words it was read from."""

    years: float
    evidence: str


def age_of(text: str) -> Told | None:
    """The patient's age; None when it is not told, or two different ages are."""
    found: list[tuple[int, int, Told]] = []
    for pattern in _AGES:
        for match in pattern.finditer(text):
            told = _told(match)
            overlaps = any(match.start() < end and start < match.end() for start, end, _ in found)
            if told is not None and not overlaps:
                found.append((match.start(), match.end(), told))
    # "her four-month-old", "grandmother had cancer in her eighties": unless no other age is told.
    found = [one for one in found if not _of_another(text, one[0])] or found
    ages = {round(told.years, 1) for _, _, told in found}
    return found[0][2] if len(ages) == 1 else None


def _of_another(text: str, start: int) -> bool:
    """Whether the words before an age, in its part of the sentence, speak of another person."""
    clause = re.split(r"[.,;:!?\n]", text[:start])[-1]
    return bool(_WHOSE.search(clause) or _RELATIVE.search(clause))


def _told(match: re.Match[str]) -> Told | None:
    words = match.groupdict()
    raw = words["age"].casefold()
    if raw in _DECADES:
        return Told(float(_DECADES[raw]), match.group())
    parts = re.split(r"[-\s]+", raw)
    try:
        number = float(sum(_WORD_VALUES.get(part, -1) if not part.isdigit() else int(part) for part in parts))
    except ValueError:
        return None
    unit = (words.get("unit") or "y")[0].casefold()
    years = number * _DAYS[unit] / _DAYS["y"]
    return Told(years, match.group()) if 0 <= years <= 115 else None


def sex_of(text: str) -> Sex:
    """The patient's sex as the words tell it; unknown when they tell both or neither."""
    own = _OTHERS.sub(" ", text)
    female, male = bool(_FEMALE.search(own)), bool(_MALE.search(own))
    if female == male:
        return Sex.UNKNOWN
    return Sex.FEMALE if female else Sex.MALE
