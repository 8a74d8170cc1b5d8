"""Headings in plain text, where only wording, length and surroundings tell them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ingest_svc.cleaning.contents import title_key
from ingest_svc.parsing.flow import bullet_text, is_terminated
from ingest_svc.parsing.heading_marks import UNNUMBERED, HeadingLevels, HeadingMark, heading_mark

_GAPS = frozenset({"", "\f"})
_SMALL_WORDS = frozenset(
    "a an and as at but by for from in into is nor of on or over per the to under upon via vs with within "
    "that be".split()
)
_QUESTION_LENGTH = 200
_UNDERLINE = re.compile(r"^([=\-~^*#])\1{2,}$")
_MAX_UNDERLINED = 120
_PLAIN = HeadingMark(UNNUMBERED, 0, "", strong=False)


@dataclass(frozen=True, slots=True)
class FoundHeading:
    """A heading, its level and the index of the line after it."""

    text: str
    level: int
    end: int


class LineHeadings:
    """Finds headings line by line, in document order.

    Args:
        titles: folded titles from the table of contents; they prove a heading.
        width: wrap width of the text, 0 when it is not wrapped.
        base_level: level of the outermost headings.
    """

    def __init__(self, titles: frozenset[str], width: int, base_level: int) -> None:
        self._titles = titles
        self._width = width or 120
        self._levels = HeadingLevels(base_level)
        self._labels: set[str] = set()

    def at(self, lines: Sequence[str], index: int, *, inside: bool = False) -> FoundHeading | None:
        """The heading that starts at `index`, or None.

        Args:
            lines: all lines, tidy; "" and form feeds are gaps.
            index: where to look.
            inside: only ask whether one starts here after a line of text; levels do not move.
        """
        line = lines[index]
        if bullet_text(line) is not None or line.startswith("|"):
            return None
        if underline := _underline(lines, index):
            level = 0 if inside else self._levels.level(HeadingMark(underline, 0, line, strong=True))
            return FoundHeading(line, level, index + 2)
        text, end = self._whole(lines, index)
        mark = heading_mark(text)
        known = title_key(text) in self._titles and text[-1] not in ";,:"
        if not (known or self._is_heading(lines, index, end, text, mark)):
            return None
        if mark is not None and mark.style.startswith("decimal") and not (known or self._in_sequence(mark)):
            return None
        if inside:
            return FoundHeading(text, 0, end)
        if mark is not None:
            self._labels.add(mark.label)
        level = self._levels.level(mark or _PLAIN)
        return FoundHeading(text, level, end)

    def _whole(self, lines: Sequence[str], index: int) -> tuple[str, int]:
        """The heading with the lines it wraps over, and the index after it.

        The table of contents knows a title; a numbered question runs to its question mark; a numbered title
        may have a second line that stands alone.
        """
        line = lines[index]
        mark = heading_mark(line)
        text = line
        for end in range(index + 1, min(index + 4, len(lines))):
            following = lines[end]
            if following in _GAPS or is_terminated(text) or title_key(text) in self._titles:
                break
            text = f"{text} {following}"
            if title_key(text) in self._titles:
                return text, end + 1
            if mark is None:
                continue
            if following.endswith("?"):
                return text, end + 1
            alone = end + 1 >= len(lines) or lines[end + 1] in _GAPS
            short = len(following) < 0.75 * self._width and not is_terminated(following)
            if end == index + 1 and alone and short and heading_mark(following) is None:
                return text, end + 1
        return line, index + 1

    def _is_heading(
        self, lines: Sequence[str], index: int, end: int, text: str, mark: HeadingMark | None
    ) -> bool:
        gap_before = index == 0 or lines[index - 1] in _GAPS
        gap_after = end >= len(lines) or lines[end] in _GAPS
        after = next((line for line in lines[end : end + 3] if line not in _GAPS), "")
        if not after or not self._short(text):
            return False
        sentence_before = gap_before or is_terminated(lines[index - 1])
        if mark is not None:
            return self._numbered(text, mark, after, sentence_before, gap_before, gap_after)
        return gap_before and self._titled(text, after)

    def _in_sequence(self, mark: HeadingMark) -> bool:
        """ "3.2 W/kg" is a quantity, "3.2 Scope" follows "3.1" or "3"; one missed number is allowed."""
        if not re.search(r"[^\W\d_]{3}", mark.title):
            return False
        parent, _, last = mark.label.rpartition(".")
        number = int(last)
        before = {f"{parent}.{number - step}" for step in (0, 1, 2)} | {parent}
        return number <= 2 or bool(before & self._labels)

    def _short(self, text: str) -> bool:
        return len(text) <= (2 * self._width if text.endswith("?") else max(1.6 * self._width, 120))

    def _numbered(
        self,
        text: str,
        mark: HeadingMark,
        after: str,
        sentence_before: bool,
        gap_before: bool,
        gap_after: bool,
    ) -> bool:
        if not sentence_before or after[:1].islower():
            return False
        question = text.endswith("?") and len(text) <= _QUESTION_LENGTH
        if is_terminated(mark.title) and not question and not (mark.strong and len(mark.title) < 80):
            return False
        if mark.strong and not mark.style.startswith("decimal"):
            if not mark.title:
                return gap_before and not is_terminated(text)
            # "Section 5.1 below provides" begins a wrapped line, not a section.
            return gap_before or gap_after or _is_title_case(mark.title) or len(text) < 0.75 * self._width
        if question:
            return gap_before or len(text) < 0.9 * self._width
        # One label that is also used for enumerations needs a title behind it.
        titled = _is_title_case(mark.title) or mark.title.isupper()
        if mark.style == "arabic":
            return titled and gap_before and len(mark.title.split()) <= 12
        return (titled or (gap_before and mark.style != "upper")) and len(text) < 1.6 * self._width

    def _titled(self, text: str, after: str) -> bool:
        """An unnumbered line: title case, clearly shorter than a line of prose, prose below."""
        words = text.split()
        if not 1 <= len(words) <= 12 or len(text) > 0.7 * self._width or is_terminated(text):
            return False
        if text[-1] in ",-–" or re.search(r"\d{4}|@|https?:|\d-\d", text) or not text[0].isalpha():
            return False
        if not _is_title_case(text) or len(title_key(text)) < 4:
            return False
        prose_below = len(after) >= 0.6 * self._width and after[:1].isupper() and bullet_text(after) is None
        return prose_below


def _underline(lines: Sequence[str], index: int) -> str:
    """The sign that underlines a line standing alone above text ("====", "----"), "" for none.

    The rule is about as long as the title; one over a whole page or below figures is none.
    """
    line = lines[index]
    if (index and lines[index - 1] not in _GAPS) or index + 2 >= len(lines):
        return ""
    match = _UNDERLINE.match(lines[index + 1])
    if match is None or len(line) > _MAX_UNDERLINED or not re.search(r"[^\W\d_]{2}", line):
        return ""
    if is_terminated(line) and not line.endswith("?"):
        return ""
    return match.group(1) if abs(len(match.group()) - len(line)) <= max(2, 0.2 * len(line)) else ""


def _is_title_case(text: str) -> bool:
    """Every longer word begins with a capital ("Gradient Induced Vibration"), or all is capitals."""
    words = [word for word in re.findall(r"[^\W\d_][\w'’-]*", text) if word.lower() not in _SMALL_WORDS]
    if not words:
        return False
    capital = sum(word[0].isupper() for word in words)
    # One lower-case word in six: "MR and non-MR Use".
    return bool(words[0][0].isupper()) and capital >= len(words) * 5 / 6
