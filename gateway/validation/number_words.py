"""Numbers written as words, English and Russian, 0 to 999: "six months", "сорока пяти рабочих дней"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_ENGLISH: Final = {
    "zero": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "seventeen": 17,
    "eighteen": 18,
    "nineteen": 19,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "hundred": 100,
}

# All cases; ordinals are left out on purpose ("первый раз" is no quantity).
_RUSSIAN: Final = {
    0: "ноль нуль ноля нуля",
    1: "один одна одно одного одной одному одним одну",
    2: "два две двух двум двумя",
    3: "три трех трем тремя",
    4: "четыре четырех четырем четырьмя",
    5: "пять пяти пятью",
    6: "шесть шести шестью",
    7: "семь семи семью",
    8: "восемь восьми восемью восьмью",
    9: "девять девяти девятью",
    10: "десять десяти десятью",
    11: "одиннадцать одиннадцати",
    12: "двенадцать двенадцати",
    13: "тринадцать тринадцати",
    14: "четырнадцать четырнадцати",
    15: "пятнадцать пятнадцати",
    16: "шестнадцать шестнадцати",
    17: "семнадцать семнадцати",
    18: "восемнадцать восемнадцати",
    19: "девятнадцать девятнадцати",
    20: "двадцать двадцати двадцатью",
    30: "тридцать тридцати тридцатью",
    40: "сорок сорока",
    50: "пятьдесят пятидесяти",
    60: "шестьдесят шестидесяти",
    70: "семьдесят семидесяти",
    80: "восемьдесят восьмидесяти",
    90: "девяносто девяноста",
    100: "сто ста",
    200: "двести двухсот",
    300: "триста трехсот",
    400: "четыреста четырехсот",
    500: "пятьсот пятисот",
}

_VALUES: Final = _ENGLISH | {form: value for value, forms in _RUSSIAN.items() for form in forms.split()}
_WORD: Final = "|".join(sorted(_VALUES, key=len, reverse=True))
_PHRASE: Final = re.compile(rf"(?<!\w)(?:{_WORD})(?:(?:[\s-]+|\s+and\s+)(?:{_WORD}))*(?!\w)")


def number_words(text: str) -> Iterator[tuple[int, int, int]]:
    """(start, end, value) of each number in words; `text` is lower case with ё as е, offsets are kept."""
    for match in _PHRASE.finditer(text):
        values = [_VALUES[word] for word in re.split(r"[\s-]+", match.group()) if word in _VALUES]
        total = _compose(values)
        if total is not None:
            yield match.start(), match.end(), total


def _compose(values: list[int]) -> int | None:
    """Hundreds, then tens, then ones; None for what is no number ("two three")."""
    total = 0
    room = 1000
    for value in values:
        if value == 100 and 0 < total < 10:
            total, room = total * 100, 100
            continue
        if value >= room:
            return None
        total += value
        room = 100 if value >= 100 else 10 if value >= 20 else 1
    return total
