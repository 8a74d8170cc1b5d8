"""Cell values as Excel shows them: number formats of ECMA-376 part 1, 18.8.31 (and its built-in ones)."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from openpyxl.styles.numbers import is_date_format

_QUOTED = re.compile(r'"([^"]*)"|\\(.)|_.|\*.')
# [Red], [$€-407], [>=100]
_BRACKET = re.compile(r"\[(?!(?:h+|m+|s+)\])([^\]]*)\]", re.I)
_ELAPSED = re.compile(r"\[(h+|m+|s+)\]", re.I)
_DIGITS = re.compile(r"[#0?][#0?,]*(?:\.[#0?]*)?,*(?:E[+-][#0?]+)?|\.[#0?]+", re.I)
_DATE_TOKEN = re.compile(r"y+|m+|d+|h+|s+(?:\.0+)?|am/pm|a/p|.", re.I | re.S)
_FRACTION = re.compile(r"[#0?]\s*/\s*[#0?\d]")
# Built-in formats whose order of day and month depends on the reader's country are shown as ISO 8601 dates.
_LOCAL_DATES = frozenset({"mm-dd-yy", "m/d/yy", "m/d/yyyy", "mm/dd/yy", "mm/dd/yyyy"})
_MONTHS = (
    "January February March April May June July August September October November December".split()
)  # fmt: skip
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_DAY_SECONDS = 86_400


def shown(value: object, number_format: str | None) -> str:
    """The text a reader sees in a cell.

    Args:
        value: what openpyxl read (str, bool, int, float, date, time, timedelta).
        number_format: the cell's format code, "General" when it has none.

    Thousands are grouped with commas and decimals set off with a point, as the code is written; the country
    settings of the reader's Excel are not part of the file.
    """
    code = number_format or "General"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, dt.datetime | dt.date | dt.time | dt.timedelta):
        return _date(value, code)
    if isinstance(value, int | float):
        return _number(value, code)
    text = str(value)
    section = code.split(";")[-1]
    if "@" in section and section.strip() != "@":
        return _literal(section).replace("@", text)
    return text


def _number(value: float, code: str) -> str:
    if not math.isfinite(value):
        return str(value)
    number = Decimal(repr(value))
    if code == "General":
        return _general(number)
    section, number, signed = _section(code, number)
    plain = _BRACKET.sub(_currency, section)
    bare = _QUOTED.sub("", plain)
    if not plain.strip():
        # An empty section shows nothing: ";;;" is how people hide a value.
        return ""
    if "general" in bare.lower() or _FRACTION.search(bare) or "@" in bare:
        text = _general(number)
        around = (
            _literal(re.sub("general|@", "\x00", plain, flags=re.I)) if "general" in bare.lower() else "\x00"
        )
        return around.replace("\x00", text)
    if is_date_format(section):
        # A number that is no valid date (negative, too large).
        return _general(number)
    return _with_pattern(plain, number, signed)


def _section(code: str, number: Decimal) -> tuple[str, Decimal, bool]:
    """The part of the code for this number, the number it shows, and whether it writes its own sign."""
    sections = _split_sections(code)
    for section in sections:
        condition = re.search(r"\[(<=|>=|<>|<|>|=)\s*(-?[\d.]+)\]", section)
        if condition and _holds(number, condition.group(1), Decimal(condition.group(2))):
            return section, number, False
    if any(re.search(r"\[(?:<|>|=)", section) for section in sections):
        return sections[-1], number, False
    if number < 0 and len(sections) > 1:
        return sections[1], -number, True
    if number == 0 and len(sections) > 2:
        return sections[2], number, True
    return sections[0], number, False


def _split_sections(code: str) -> list[str]:
    """Sections are separated by semicolons outside quotes."""
    masked = _QUOTED.sub(lambda match: "\x00" * len(match.group()), code)
    ends = [at for at, char in enumerate(masked) if char == ";"]
    return [code[start:end] for start, end in zip([0, *(at + 1 for at in ends)], [*ends, None], strict=True)]


def _holds(number: Decimal, sign: str, bound: Decimal) -> bool:
    return {
        "<": number < bound,
        ">": number > bound,
        "=": number == bound,
        "<=": number <= bound,
        ">=": number >= bound,
        "<>": number != bound,
    }[sign]


def _currency(match: re.Match[str]) -> str:
    """ "[$€-407]" shows its sign; colours, conditions and country marks show nothing."""
    content = match.group(1)
    sign = content[1:].split("-")[0] if content.startswith("$") else ""
    return f'"{sign}"' if sign else ""


def _literal(section: str) -> str:
    """The section with quotes resolved and padding dropped."""
    return _QUOTED.sub(lambda match: match.group(1) or match.group(2) or "", section)


def _general(number: Decimal) -> str:
    """Excel keeps 15 significant digits and shows 11 in a wide cell; all 15 are kept here."""
    value = float(number)
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    text = f"{value:.15g}"
    return text if "e" not in text else text.upper()


def _with_pattern(section: str, number: Decimal, signed: bool) -> str:
    masked, literals = _masked(section)
    number *= 100 ** masked.count("%")
    match = _DIGITS.search(masked)
    if match is None:
        # Text only, such as "n/a" for zeros.
        return _unmasked(masked, literals).strip()
    digits = match.group()
    # Trailing commas divide by a thousand each.
    scale = len(digits) - len(digits.rstrip(","))
    number /= Decimal(1000) ** scale
    digits = digits.rstrip(",")
    try:
        body = _scientific(digits, number) if re.search("E[+-]", digits, re.I) else _fixed(digits, number)
    except InvalidOperation:
        return _general(number)
    negative = body.startswith("-") and any(char in "123456789" for char in body)
    body = body.lstrip("-")
    text = _unmasked(masked[: match.start()] + body + _rest(masked[match.end() :]), literals).strip()
    return f"-{text}" if negative and not signed else text


def _masked(section: str) -> tuple[str, list[str]]:
    """Literal texts replaced by marks, so that their characters are not taken for digits."""
    literals: list[str] = []

    def mark(match: re.Match[str]) -> str:
        literals.append(match.group(1) or match.group(2) or "")
        return "\x00"

    return _QUOTED.sub(mark, section), literals


def _unmasked(text: str, literals: list[str]) -> str:
    parts = text.split("\x00")
    return "".join(part + (literals[at] if at < len(literals) else "") for at, part in enumerate(parts))


def _rest(text: str) -> str:
    return re.sub("[#0?]", "", text)


def _fixed(digits: str, number: Decimal) -> str:
    whole, _, decimals = digits.partition(".")
    least = decimals.count("0")
    places = sum(char in "#0?" for char in decimals)
    rounded = number.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    text = f"{rounded:,f}" if "," in whole.rstrip(",") else f"{rounded:f}"
    if places > least and "." in text:
        kept = text.rstrip("0")
        text = kept + "0" * max(0, least - len(kept.partition(".")[2]))
        text = text.rstrip(".")
    minimum = whole.count("0")
    head, point, tail = text.lstrip("-").partition(".")
    head = head.zfill(minimum) if "," not in head else head
    if minimum == 0 and head == "0" and point:
        head = ""
    return ("-" if text.startswith("-") else "") + head + point + tail


def _scientific(digits: str, number: Decimal) -> str:
    mantissa, _, exponent = re.split("(E)", digits, maxsplit=1, flags=re.I)
    places = sum(char in "#0?" for char in mantissa.partition(".")[2])
    text = f"{number:.{places}E}"
    base, _, power = text.partition("E")
    value = int(power)
    sign = "-" if value < 0 else "+" if exponent.startswith("+") else ""
    return f"{base}E{sign}{abs(value):0{sum(char in '#0?' for char in exponent)}d}"


def _date(value: dt.datetime | dt.date | dt.time | dt.timedelta, code: str) -> str:
    if isinstance(value, dt.timedelta):
        return _elapsed(value, code)
    moment = _moment(value)
    system = "[$-f800]" in code.lower() or "[$-f400]" in code.lower()
    section = _BRACKET.sub(_currency, _split_sections(code)[0])
    masked, literals = _masked(section)
    bare = masked.replace("\x00", "").strip().lower()
    if system or bare in _LOCAL_DATES or not re.search("[ymdhs]", bare):
        return _iso(value)
    if bare in {"m/d/yy h:mm", "m/d/yyyy h:mm"}:
        return f"{moment:%Y-%m-%d %H:%M}"
    return _unmasked(_tokens(_ELAPSED.sub(r"\1", masked), moment), literals).strip()


def _moment(value: dt.datetime | dt.date | dt.time) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, dt.time):
        return dt.datetime.combine(dt.date(1899, 12, 30), value)
    return dt.datetime.combine(value, dt.time())


def _iso(value: dt.datetime | dt.date | dt.time) -> str:
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        return value.date().isoformat()
    return (
        value.isoformat(sep=" ", timespec="seconds") if isinstance(value, dt.datetime) else value.isoformat()
    )


def _tokens(pattern: str, moment: dt.datetime) -> str:
    """Date and time fields; "m" after hours or before seconds is minutes."""
    found = _DATE_TOKEN.findall(pattern)
    twelve = any(token.lower() in {"am/pm", "a/p"} for token in found)
    letters = [token[0].lower() if token[0].lower() in "ymdhs" else "" for token in found]
    parts: list[str] = []
    for at, token in enumerate(found):
        kind = letters[at]
        if kind == "m":
            before = next((each for each in reversed(letters[:at]) if each), "")
            after = next((each for each in letters[at + 1 :] if each), "")
            kind = "n" if before == "h" or after == "s" else "m"
        parts.append(_field(token, kind, moment, twelve))
    return "".join(parts)


def _field(token: str, kind: str, moment: dt.datetime, twelve: bool) -> str:
    size = len(token)
    if token.lower() in {"am/pm", "a/p"}:
        return "AM" if moment.hour < 12 else "PM"
    if kind == "y":
        return f"{moment.year % 100:02d}" if size <= 2 else f"{moment.year:04d}"
    if kind == "m":
        name = _MONTHS[moment.month - 1]
        if size >= 3:
            return {3: name[:3], 5: name[:1]}.get(size, name)
        return f"{moment.month:0{size}d}"
    if kind == "d":
        name = _DAYS[moment.weekday()]
        return f"{moment.day:0{size}d}" if size <= 2 else name[:3] if size == 3 else name
    if kind == "h":
        hour = (moment.hour - 1) % 12 + 1 if twelve else moment.hour
        return f"{hour:0{min(size, 2)}d}"
    if kind == "n":
        return f"{moment.minute:0{min(size, 2)}d}"
    if kind == "s":
        return f"{moment.second:0{2 if token.lower().startswith('ss') else 1}d}"
    return token


def _elapsed(value: dt.timedelta, code: str) -> str:
    total = value.days * _DAY_SECONDS + value.seconds
    sign = "-" if total < 0 else ""
    hours, rest = divmod(abs(total), 3600)
    minutes, seconds = divmod(rest, 60)
    tail = f":{seconds:02d}" if "s" in code.lower() or seconds else ""
    return f"{sign}{hours}:{minutes:02d}{tail}"
