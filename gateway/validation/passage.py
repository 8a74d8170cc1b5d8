"""A passage as the validator reads it: its Markdown structure, and what governs a position in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from gateway.validation.normalise import NormalisedText, fold, normalise

_HEADING: Final = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_RULER: Final = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
# A list item: Markdown's bullets, or the enumerators of legal texts: "(a)", "(1)", "iv.", "а)", "1)", "2.1.".
_ITEM: Final = re.compile(
    r"^(\s*)(?:>\s*)?(?:(?P<bullet>[-*+•‣▪◦–—])|(?P<open>\(?)(?P<body>\d{1,3}(?:\.\d{1,3})*"
    r"|[A-Za-zА-Яа-яё]{1,2}|[ivxlIVXL]{1,6})"
    r"(?P<close>[.)]+))\s+(?=\S)"
)
_MAX_LEAD_INS: Final = 4


@dataclass(frozen=True, slots=True)
class PassageText:
    """A passage retrieved for the question.

    Attributes:
        text: its Markdown; citations point into it in code points.
        section_path: heading path at its beginning, outermost first.
        title: title of its document.
    """

    text: str
    section_path: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    text: str
    heading_level: int
    heading: str
    is_row: bool
    marker: str
    """"" = no list item; else the kind of its marker with its indent, equal for siblings."""


class PassageView:
    """Structure of one passage, computed once and only when a citation needs it."""

    def __init__(self, passage: PassageText) -> None:
        self.passage = passage

    @cached_property
    def normalised(self) -> NormalisedText:
        return normalise(self.passage.text)

    @cached_property
    def _lines(self) -> tuple[_Line, ...]:
        lines: list[_Line] = []
        start = 0
        for raw in self.passage.text.splitlines(keepends=True):
            text = raw.rstrip("\r\n")
            heading = _HEADING.match(text)
            item = None if heading else _ITEM.match(text)
            lines.append(
                _Line(
                    start=start,
                    text=text,
                    heading_level=len(heading.group(1)) if heading else 0,
                    heading=_plain(heading.group(2)) if heading else "",
                    is_row="|" in text and (text.lstrip().startswith("|") or bool(_RULER.match(text))),
                    marker=_marker(item) if item else "",
                )
            )
            start += len(raw)
        return tuple(lines)

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return tuple(line.start for line in self._lines)

    def _line_at(self, position: int) -> int:
        return max(0, bisect_right(self._starts, position) - 1)

    def heading_path(self, position: int) -> tuple[str, ...]:
        """Headings over a position, outermost first: the passage's own path continued by headings in its
        text."""
        base = list(self.passage.section_path)
        stack: list[tuple[int, str]] = []
        anchor: tuple[int, int] | None = None
        for line in self._lines[: self._line_at(position) + 1]:
            if not line.heading_level:
                continue
            known = _index_of(line.heading, base)
            if known is not None and anchor is None:
                # The text repeats a heading of the path: from here on a level is a place in the path.
                anchor = (line.heading_level, known)
            while stack and stack[-1][0] >= line.heading_level:
                stack.pop()
            stack.append((line.heading_level, line.heading))
        if not stack:
            return tuple(base)
        keep = len(base)
        if anchor is not None:
            level, place = anchor
            keep = min(len(base), max(0, place + stack[0][0] - level))
        path = base[:keep]
        path.extend(heading for _, heading in stack if _index_of(heading, path) is None)
        return tuple(path)

    def context(self, start: int, end: int) -> str:
        """What governs the range besides its own words, pieces apart by blank lines: title, heading path, the
        table rows it touches with their headers, and the sentences that lead in its lists."""
        pieces = [self.passage.title, *self.heading_path(start)]
        first, last = self._line_at(start), self._line_at(max(start, end - 1))
        for index in range(first, last + 1):
            line = self._lines[index]
            if line.is_row:
                pieces.append(line.text)
                pieces.extend(self._table_context(index))
        pieces.extend(self._lead_ins(first))
        return "\n\n".join(piece for piece in pieces if piece)

    def _table_context(self, index: int) -> list[str]:
        """Header row, group rows (only one cell filled) and the cell that an empty first cell continues."""
        top = index
        while top > 0 and self._lines[top - 1].is_row:
            top -= 1
        rulers = [place for place in range(top, index + 1) if _RULER.match(self._lines[place].text)]
        body = rulers[0] + 1 if rulers else top
        pieces = [
            self._lines[place].text for place in range(top, body) if not _RULER.match(self._lines[place].text)
        ]
        own = _cells(self._lines[index].text)
        needs_first = bool(own) and not own[0]
        for place in range(index - 1, body - 1, -1):
            cells = _cells(self._lines[place].text)
            filled = [cell for cell in cells if cell]
            if needs_first and cells and cells[0]:
                pieces.append(cells[0])
                needs_first = False
            if len(cells) > 1 and (len(filled) == 1 or len(set(filled)) == 1) and cells[0]:
                pieces.append(filled[0])
                break
        if top > 0 and (lead := self._previous_text(top)) is not None:
            text = self._lines[lead].text.rstrip(" *_")
            if text.endswith(":") or re.match(r"\W*(?:table|таблица|табл)\b", text, re.IGNORECASE):
                pieces.append(_last_sentence(self._lines[lead].text))
        return pieces

    def _lead_ins(self, index: int) -> list[str]:
        """Sentences ending in ":" over a list item, innermost first."""
        seen = self._item_of(index)
        if seen is None:
            return []
        place, marker = seen
        markers = {marker}
        found: list[str] = []
        while place > 0 and len(found) < _MAX_LEAD_INS:
            place -= 1
            line = self._lines[place]
            if line.heading_level:
                break
            if not line.text.strip() or (line.marker and line.marker in markers):
                continue
            leads = line.text.rstrip(" *_").endswith((":", "—", "–"))
            if line.marker:
                markers.add(line.marker)
                found.append(_last_sentence(line.text) if leads else "")
            elif leads:
                found.append(_last_sentence(line.text))
                break
            elif self._item_of(place) is None:
                break
        return [piece for piece in found if piece]

    def _item_of(self, index: int) -> tuple[int, str] | None:
        """The item line that a line belongs to: itself, or the one it continues (no blank line between)."""
        while index >= 0:
            line = self._lines[index]
            if line.marker:
                return index, line.marker
            if line.heading_level or line.is_row or not line.text.strip():
                return None
            index -= 1
        return None

    def _previous_text(self, index: int) -> int | None:
        for place in range(index - 1, max(-1, index - 4), -1):
            if self._lines[place].text.strip():
                return None if self._lines[place].is_row else place
        return None


def _marker(item: re.Match[str]) -> str:
    indent = len(item.group(1).expandtabs(4)) // 2
    if item.group("bullet"):
        return f"{indent}{item.group('bullet')}"
    body = item.group("body")
    if body[0].isdigit():
        kind = "1" + ".1" * body.count(".")
    elif re.fullmatch(r"[ivxl]+", body) and body != "l":
        kind = "i"
    elif re.fullmatch(r"[IVXL]+", body) and body != "L":
        kind = "I"
    else:
        kind = "a" if body.islower() else "A"
    return f"{indent}{item.group('open')}{kind}{item.group('close')[0]}"


def _cells(row: str) -> list[str]:
    return [cell.strip(" *_`") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def _last_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?;])\s+(?=[A-ZА-ЯЁ(])", text.strip())[-1]


def _plain(heading: str) -> str:
    return re.sub(r"[*_`]+", "", heading).strip()


def _index_of(heading: str, path: list[str]) -> int | None:
    wanted = fold(heading)
    return next((place for place, known in enumerate(path) if fold(known) == wanted), None)
