"""Units of measure, English and Russian, in one spelling each: "minutes" = "min" = "мин" = "минуты".

Units are never converted: 500 mGy and 0.5 Gy are the same dose, but only the one that stands in the quotation
was checked by its author.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

# Canonical name, exact spellings (case matters: mPa is not MPa), pattern of words (case does not matter).
_TABLE: Final = (
    ("nm", "nm нм", r"nanomet(?:er|re)s?|нанометр\w*"),
    ("um", "µm μm um мкм", r"micromet(?:er|re)s?|microns?|микрометр\w*|микрон\w*"),
    ("mm", "mm мм", r"millimet(?:er|re)s?|миллиметр\w*"),
    ("cm", "cm см", r"centimet(?:er|re)s?|сантиметр\w*"),
    ("m", "m м", r"met(?:er|re)s?|метр(?:а|ов|у|ы|ах|ам|ом|е)?"),
    ("km", "km км", r"kilomet(?:er|re)s?|километр\w*"),
    ("in", "", r"inch(?:es)?|дюйм\w*"),
    ("ft", "ft", r"foot|feet|фут\w{0,2}"),
    ("mm2", "mm2 мм2", r""),
    ("cm2", "cm2 см2", r"sqcm"),
    ("m2", "m2 м2 sqm", r"квм"),
    ("cm3", "cm3 см3 cc", r""),
    ("m3", "m3 м3", r""),
    ("ul", "µL μL µl μl мкл", r"microlit(?:er|re)s?"),
    ("ml", "mL ml мл", r"millilit(?:er|re)s?|миллилитр\w*"),
    ("dl", "dL dl дл", r"decilit(?:er|re)s?"),
    ("l", "L l л", r"lit(?:er|re)s?|литр(?:а|ов|у|ы|ах|ам|ом)?"),
    ("ng", "ng нг", r"nanograms?"),
    ("ug", "µg μg mcg мкг", r"micrograms?|микрограмм\w*"),
    ("mg", "mg мг", r"milligrams?|миллиграмм\w*"),
    ("g", "g г гр", r"gram(?:me)?s?|грамм(?:а|ов|у|ы|ах|ам|ом)?"),
    ("kg", "kg кг", r"kilogram(?:me)?s?|килограмм\w*"),
    ("lb", "lb lbs", r"pounds?"),
    ("t", "", r"tonn?es?|тонн\w*"),
    ("uSv", "µSv μSv uSv мкЗв", r"microsieverts?|микрозиверт\w*"),
    ("mSv", "mSv мЗв", r"millisieverts?|миллизиверт\w*"),
    ("Sv", "Sv Зв", r"sieverts?|зиверт\w*"),
    ("nGy", "nGy нГр", r""),
    ("uGy", "µGy μGy uGy мкГр", r"micrograys?|микрогр[еэ]\w*"),
    ("mGy", "mGy мГр", r"milligrays?|миллигр[еэ]\w*"),
    ("Gy", "Gy Гр", r"grays?|гр[еэ]й\w*"),
    ("cGy", "cGy сГр", r"centigrays?"),
    ("mrem", "mrem мбэр", r"millirems?|миллибэр\w*"),
    ("rem", "rem rems бэр", r""),
    ("mrad", "mrad mrads", r"millirads?"),
    ("rad", "rad rads рад", r""),
    ("mR", "mR мР", r"milliroentgens?|миллирентген\w*"),
    ("R", "R Р", r"roentgens?|r[oö]ntgens?|рентген(?:а|ов|ы)?"),
    ("kBq", "kBq кБк", r"kilobecquerels?"),
    ("MBq", "MBq МБк", r"megabecquerels?|мегабеккерел\w*"),
    ("GBq", "GBq ГБк", r"gigabecquerels?|гигабеккерел\w*"),
    ("Bq", "Bq Бк", r"becquerels?|беккерел\w*"),
    ("uCi", "µCi μCi uCi мкКи", r"microcuries?"),
    ("mCi", "mCi мКи", r"millicuries?|милликюри"),
    ("Ci", "Ci Ки", r"curies?|кюри"),
    ("ms", "ms мс msec", r"milliseconds?|миллисекунд\w*"),
    ("us", "µs μs мкс", r"microseconds?|микросекунд\w*"),
    ("s", "s sec secs с сек", r"seconds?|секунд\w{0,3}|секундн\w+"),
    ("min", "min mins мин", r"minutes?|минут\w{0,3}|минутн\w+"),
    ("h", "h hr hrs ч", r"hours?|hourly|час(?:а|ов|у|ы|ам|ах|ом|е)?|часов(?:ой|ого|ых)|ежечасн\w*"),
    (
        "day",
        "d дн сут",
        r"days?|daily|день|дня|дней|дню|дни|днях|дням|днем|сут(?:ки|ок|кам|ках)|дневн\w+|ежедневн\w*",
    ),
    ("week", "wk wks нед", r"weeks?|weekly|недел\w{1,3}|недельн\w+|еженедельн\w*"),
    ("month", "mo mos мес", r"months?|monthly|месяц\w{0,3}|месячн\w+|ежемесячн\w*"),
    (
        "year",
        "yr yrs y г. лет",
        r"years?|yearly|annual(?:ly)?|год(?:а|у|ы|ов|ом|ах|ам|е)?|лет|летн\w+|годов\w+|ежегодн\w*",
    ),
    ("%", "% pct", r"percent|per\s?cent|процент\w{0,3}"),
    ("permille", "‰", r"промилле"),
    ("degC", "degC", r""),
    ("degF", "degF", r""),
    ("deg", "° deg", r"degrees?|градус\w{0,3}"),
    ("K", "K", r"kelvins?"),
    ("Hz", "Hz Гц", r"hertz|герц\w{0,2}"),
    ("kHz", "kHz кГц", r"kilohertz|килогерц\w{0,2}"),
    ("MHz", "MHz МГц", r"megahertz|мегагерц\w{0,2}"),
    ("GHz", "GHz ГГц", r""),
    ("mT", "mT мТл", r"millitesla"),
    ("T", "T Тл", r"teslas?|тесла"),
    ("gauss", "G Гс", r"gauss|гаусс\w*"),
    ("mV", "mV мВ", r"millivolts?"),
    ("kV", "kV kVp kVP кВ", r"kilovolts?(?:\s?peak)?|киловольт\w{0,2}"),
    ("V", "V В", r"volts?|вольт\w{0,2}"),
    ("mA", "mA мА", r"milliamperes?|миллиампер\w{0,2}"),
    ("A", "A А", r"amperes?|ампер\w{0,2}"),
    ("mAs", "mAs мАс", r"milliampere-?seconds?"),
    ("keV", "keV кэВ", r""),
    ("MeV", "MeV МэВ", r""),
    ("mW", "mW мВт", r"milliwatts?|милливатт\w{0,2}"),
    ("W", "W Вт", r"watts?|ватт\w{0,2}"),
    ("kW", "kW кВт", r"kilowatts?|киловатт\w{0,2}"),
    ("J", "J Дж", r"joules?|джоул\w{0,2}"),
    ("kPa", "kPa кПа", r"kilopascals?"),
    ("mPa", "mPa мПа", r""),
    ("MPa", "MPa МПа", r"megapascals?|мегапаскал\w{0,2}"),
    ("Pa", "Pa Па", r"pascals?|паскал\w{0,2}"),
    ("mmHg", "mmHg", r""),
    ("cmH2O", "cmH2O", r""),
    ("dB", "dB dBA дБ дБА", r"decibels?|децибел\w{0,2}"),
    ("HU", "HU ед.Н", r"hounsfield|хаунсфилд\w*"),
    ("cd", "cd кд", r"candelas?|кандел\w{0,2}"),
    ("lx", "lx lux лк", r"люкс\w{0,2}"),
    ("umol", "µmol μmol мкмоль", r"micromoles?"),
    ("mmol", "mmol mM ммоль", r"millimoles?|миллимол\w{0,2}"),
    ("mol", "mol моль", r"moles?"),
    ("mEq", "mEq мэкв", r""),
    ("mOsm", "mOsm мОсм", r""),
    ("U", "IU МЕ ЕД", r""),
    ("bpm", "bpm", r"beats?"),
    ("ppm", "ppm", r""),
    ("px", "px", r"pixels?|пиксел\w{0,3}"),
    ("MP", "MP Мп", r"megapixels?|мегапиксел\w{0,3}"),
    ("lp", "lp", r""),
    ("USD", "$ USD", r"dollars?|доллар\w{0,3}"),
    ("EUR", "€ EUR", r"euros?|евро"),
    ("GBP", "£ GBP", r""),
    ("RUB", "₽ RUB руб", r"rubles?|roubles?|рубл\w{1,3}"),
    ("thousand", "тыс", r"thousand|тысяч\w{0,3}"),
    ("million", "млн", r"million|миллион\w{0,3}"),
    ("billion", "млрд", r"billion|миллиард\w{0,3}"),
)

_EXACT: Final = {spelling: name for name, spellings, _ in _TABLE for spelling in spellings.split()}
_WORDS: Final = tuple((name, re.compile(pattern)) for name, _, pattern in _TABLE if pattern)
_RAISED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
# Units of several words, brought to one token before anything is read.
_PHRASES: Final = (
    (re.compile(r"\bmm\s?Hg\b|\bмм\.?\s?рт\.?\s?ст\b\.?", re.IGNORECASE), "mmHg"),
    (re.compile(r"\bcm\s?H2O\b|\bcm\s?H₂O\b|\bсм\.?\s?вод\.?\s?ст\b\.?", re.IGNORECASE), "cmH2O"),
    (
        re.compile(r"(?:°\s?|\bdegrees?\s|\bградус\w*\s)(?:[CС]\b|celsius\b|цельсия\b)|℃", re.IGNORECASE),
        "degC",
    ),
    (re.compile(r"(?:°\s?|\bdegrees?\s)(?:F\b|fahrenheit\b)|℉", re.IGNORECASE), "degF"),
    (
        re.compile(
            r"\bsq(?:uare|\.)?\s?(?:met(?:er|re)s?|m)\b|\bкв(?:адратн\w+|\.)?\s?м(?:етр\w*)?\b", re.IGNORECASE
        ),
        "m2",
    ),
    (re.compile(r"\bsq(?:uare|\.)?\s?(?:centimet(?:er|re)s?|cm)\b|\bкв\.?\s?см\b", re.IGNORECASE), "cm2"),
    (re.compile(r"\s?\bper\s?cent\b", re.IGNORECASE), "%"),
)

TIME_UNITS: Final = frozenset({"ms", "us", "s", "min", "h", "day", "workday", "week", "month", "year"})
TOKEN: Final = r"(?:[%‰°$€£₽]|[A-Za-zА-Яа-яёЁµμΩ]+(?:\^?[23]|[²³])?)"
"""Pattern of what may be a unit."""


def join_phrases(text: str) -> str:
    """Units of several words as one token: "mm Hg" -> "mmHg". Changes offsets."""
    for pattern, name in _PHRASES:
        text = pattern.sub(f" {name}" if name == "%" else name, text)
    return text


@lru_cache(maxsize=4096)
def unit_of(token: str) -> str | None:
    """Canonical name of a unit, None when the token is none."""
    plain = token.translate(_RAISED).replace("^", "")
    if name := _EXACT.get(plain) or (plain if plain in _NAMES else None):
        return name
    lower = plain.casefold().replace("ё", "е")
    for name, pattern in _WORDS:
        if pattern.fullmatch(lower):
            return name
    # "MSV" in a heading in capitals; letters alone are too easily something else.
    matches = {
        known for spelling, known in _EXACT.items() if len(spelling) > 1 and spelling.casefold() == lower
    }
    return matches.pop() if len(matches) == 1 else None


_NAMES: Final = frozenset(name for name, _, _ in _TABLE) - {"in"}
