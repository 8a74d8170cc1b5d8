"""Numbered headings: "IV. Request", "§ 892.1 Scope", "Статья 13. ...", "5.1.2 Overview", "Annex B".

`heading_mark` says how a line is numbered; `HeadingLevels` turns the sequence of numbering styles into
levels: a style met for the first time is a child of the current one, a style met again closes what is below.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_NUMBER = r"(?:[IVXLC]+|\d+(?:[.\-]\d+)*|[A-ZА-Я])"
_KEYWORDS = (
    "title|part|subpart|chapter|subchapter|section|article|appendix|annex|attachment|schedule|"
    "teil|kapitel|abschnitt|anhang|anlage|artikel|"
    "часть|раздел|подраздел|глава|параграф|статья|приложение"
)
_KEYWORD_HEADING = re.compile(
    rf"^({_KEYWORDS})\s+(?:[№N]\s*)?({_NUMBER})(?:[.:)]+|\s*[-–—]\s*|\s+|$)(.*)$", re.I
)
_PLAIN_APPENDIX = re.compile(r"^(приложение|appendix|annex|anhang)$", re.I)
_PARAGRAPH_SIGN = re.compile(r"^§+\s*(\d[\w.\-]*?)\.?\s+(\S.*)$")
_ROMAN = re.compile(r"^([IVXLC]+)\.\s+(\S.*)$")
_UPPER = re.compile(r"^([A-ZА-Я])\.\s+(\S.*)$")
_DECIMAL = re.compile(r"^(\d{1,2}(?:\.\d{1,3}){1,5})\.?\s+(\S.*)$")
_ARABIC = re.compile(r"^(\d{1,2})\.?\s+(\S.*)$")
_APPENDICES = frozenset({"appendix", "annex", "attachment", "schedule", "anhang", "anlage", "приложение"})
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
MAX_TITLE = 220
UNNUMBERED = "unnumbered"


@dataclass(frozen=True, slots=True)
class HeadingMark:
    """How a heading is numbered.

    Attributes:
        style: numbering style, e.g. "статья", "roman", "decimal2"; headings of one style are siblings.
        number: ordinal within the style where one can be told, else 0.
        title: text after the label; may be empty ("Раздел I").
        strong: True when the label alone proves a heading (keyword, §, more than one number).
        label: the number as written, e.g. "5.1.2".
    """

    style: str
    number: int
    title: str
    strong: bool
    label: str = ""


def roman_value(text: str) -> int:
    """Value of a Roman numeral, 0 when it is not well-formed."""
    total = 0
    previous = 0
    for char in reversed(text):
        value = _ROMAN_VALUES.get(char, 0)
        total += value if value >= previous else -value
        previous = max(previous, value)
    return total if total > 0 and _to_roman(total) == text else 0


def _to_roman(number: int) -> str:
    parts: list[str] = []
    for value, sign in (
        (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
    ):  # fmt: skip
        while number >= value:
            parts.append(sign)
            number -= value
    return "".join(parts)


def heading_mark(line: str) -> HeadingMark | None:
    """The numbering of a line that may be a heading; None when it has none.

    Whether the line is one (short, alone, title-like) is for the caller to judge; only what can never be a
    title is sorted out here: too long, sentence punctuation at the end, a lower-case start.
    """
    line = line.strip()
    if not line or len(line) > MAX_TITLE or line[-1] in ";,:":
        return None
    match = _KEYWORD_HEADING.match(line)
    if match and _keyword_case(match.group(1)) and _starts_title(match.group(3)):
        style = match.group(1).lower()
        return HeadingMark(style, _ordinal(match.group(2)), match.group(3).strip(), strong=True)
    if _PLAIN_APPENDIX.match(line) and line[0].isupper():
        return HeadingMark(line.lower(), 0, "", strong=True)
    for pattern, style, strong in (
        (_PARAGRAPH_SIGN, "§", True),
        (_DECIMAL, "decimal", True),
        (_ROMAN, "roman", False),
        (_UPPER, "upper", False),
        (_ARABIC, "arabic", False),
    ):
        match = pattern.match(line)
        if match is None or not _starts_title(match.group(2)):
            continue
        label = match.group(1)
        if style == "roman" and not roman_value(label):
            continue
        if style == "decimal":
            style = f"decimal{label.count('.') + 1}"
        return HeadingMark(style, _ordinal(label), match.group(2).strip(), strong, label)
    return None


def _keyword_case(word: str) -> bool:
    """ "Part 3" and "PART 3" are labels, "part 3" is a reference inside a sentence."""
    return word[0].isupper() and (word[1:].islower() or word.isupper())


def _starts_title(text: str) -> bool:
    text = text.strip().lstrip("\"'“«([")
    return not text or text[0].isupper() or text[0].isdigit()


def _ordinal(label: str) -> int:
    last = re.split(r"[.\-]", label)[-1]
    if last.isdigit():
        return int(last)
    return roman_value(last) or (ord(last) - ord("A") + 1 if len(last) == 1 and last.isascii() else 0)


@dataclass(slots=True)
class HeadingLevels:
    """Levels for a sequence of numbering styles of one document.

    Args:
        base: level of the outermost style, 1-6.
    """

    base: int = 1
    _open: list[str] = field(default_factory=list)
    _letters: int = 0
    _romans: int = 0

    def level(self, mark: HeadingMark) -> int:
        """Level 1-6 of the next heading in document order."""
        style = self._letter_or_roman(mark)
        if style in _APPENDICES:
            self._open = [style]
            return self.base
        if style != UNNUMBERED and UNNUMBERED in self._open:
            # Unnumbered headings are leaves: a numbered one never belongs under them.
            del self._open[self._open.index(UNNUMBERED) :]
        if style == "roman" and style not in self._open:
            # Roman numerals never number the parts of an "A." or "1." section: what is open was a stray.
            self._open = [kind for kind in self._open if kind not in {"arabic", "upper"}]
        if style.startswith("decimal"):
            self._close_decimals(int(style.removeprefix("decimal")))
        if style in self._open:
            del self._open[self._open.index(style) + 1 :]
        else:
            self._open.append(style)
        return min(6, self.base + len(self._open) - 1)

    def _close_decimals(self, depth: int) -> None:
        """ "5.2" after "5.1.3" closes depth 3 even where no "5.1" heading was seen before."""
        for place, style in enumerate(self._open):
            if style.startswith("decimal") and int(style.removeprefix("decimal")) > depth:
                del self._open[place:]
                return

    def _letter_or_roman(self, mark: HeadingMark) -> str:
        """ "I." after "H." is a letter; "V." after "IV." and a first "I." are Roman numerals."""
        if mark.style == "roman":
            label = _to_roman(mark.number)
            letter = ord(label) - ord("A") + 1 if len(label) == 1 else 0
            follows_letter = letter == self._letters + 1 and mark.number != self._romans + 1
            # "C." is 100 only after "XCIX."; a few numerals may have been missed.
            if letter and (follows_letter or mark.number > self._romans + 3):
                self._letters = letter
                return "upper"
            self._romans = mark.number
            self._letters = 0
            return "roman"
        if mark.style == "upper":
            self._letters = mark.number
        return mark.style
