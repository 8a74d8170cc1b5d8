"""Markdown of a passage as blocks with places: headings, paragraphs, list items, tables.

Legal texts number their items in plain paragraphs ("(a) ...", "1) ...", "2.1. ..."): these are items, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from inference_svc.generators.extractive.places import Span


class BlockKind(StrEnum):
    """What a block is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Block:
    """A block of Markdown in code points [start, end) of the passage, without blank lines around it.

    Attributes:
        body: where its words begin, after a bullet, an enumerator or heading signs.
        marker: for items, the kind of marker with its indent; siblings have equal markers.
        indent: for items, columns before the marker.
        headings: headings over it, outermost first.
        rows: for tables, the spans of all lines but the ruler, header first when `has_header`.
    """

    kind: BlockKind
    start: int
    end: int
    body: int
    marker: str = ""
    indent: int = 0
    headings: tuple[str, ...] = ()
    rows: tuple[Span, ...] = ()
    has_header: bool = False


_HEADING: Final = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*\Z")
RULER: Final = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*\Z")
_BULLET: Final = re.compile(r"([ \t]*)([-*+•‣▪◦–—])\s+(?=\S)")
_ENUMERATOR: Final = re.compile(
    r"([ \t]*)(\(?)(\d{1,3}(?:\.\d{1,3}){0,3}|[ivxlIVXL]{1,6}|[A-Za-zА-Яа-яё])([.)]\)?)\s+(?=\S)"
)
_FENCE: Final = re.compile(r"\s*(?:```|~~~)")


@dataclass(slots=True)
class _Headings:
    """The heading path while reading: the passage's own path, continued by headings in its text."""

    base: tuple[str, ...]
    stack: list[tuple[int, str]] = field(default_factory=list)
    anchor: tuple[int, int] | None = None

    def enter(self, level: int, heading: str) -> None:
        wanted = comparable(heading)
        known = next((place for place, name in enumerate(self.base) if comparable(name) == wanted), None)
        if known is not None and self.anchor is None:
            # The text repeats a heading of its path: now a level tells a place in the path.
            self.anchor = (level, known)
        while self.stack and self.stack[-1][0] >= level:
            self.stack.pop()
        self.stack.append((level, heading))

    def path(self) -> tuple[str, ...]:
        if not self.stack:
            return self.base
        keep = len(self.base)
        if self.anchor is not None:
            level, place = self.anchor
            keep = min(keep, max(0, place + self.stack[0][0] - level))
        path = list(self.base[:keep])
        names = {comparable(name) for name in path}
        path.extend(heading for _, heading in self.stack if comparable(heading) not in names)
        return tuple(path)


def parse_blocks(text: str, section_path: tuple[str, ...]) -> tuple[Block, ...]:
    """Blocks in reading order; every character of the text that is no white space lies in one."""
    headings = _Headings(section_path)
    return tuple(_blocks(text, headings))


def _blocks(text: str, headings: _Headings) -> Iterator[Block]:
    group: list[Span] = []
    fenced = False
    for line in _lines(text):
        content = text[slice(*line)]
        if _FENCE.match(content):
            yield from _close(text, group, headings)
            group, fenced = [], not fenced
            continue
        if not content.strip():
            yield from _close(text, group, headings)
            group = []
            continue
        heading = None if fenced else _HEADING.match(content)
        if heading:
            yield from _close(text, group, headings)
            group = []
            name = re.sub(r"[*_`]+", "", heading.group(2)).strip()
            if name:
                headings.enter(len(heading.group(1)), name)
                body = line[0] + heading.start(2)
                yield Block(BlockKind.HEADING, line[0], line[1], body, headings=headings.path())
            continue
        if group and (_is_row(content) != _is_row(text[slice(*group[-1])]) or _item(content)):
            yield from _close(text, group, headings)
            group = []
        group.append(line)
    yield from _close(text, group, headings)


def _close(text: str, group: list[Span], headings: _Headings) -> Iterator[Block]:
    if not group:
        return
    start, end = group[0][0], group[-1][1]
    content = text[start:end]
    path = headings.path()
    if _is_row(text[slice(*group[0])]):
        ruled = len(group) > 1 and bool(RULER.match(text[slice(*group[1])]))
        rows = tuple(line for line in group if not RULER.match(text[slice(*line)]))
        yield Block(BlockKind.TABLE, start, end, start, headings=path, rows=rows, has_header=ruled)
    elif item := _item(content):
        indent = len(item.group(1).expandtabs(4))
        yield Block(BlockKind.ITEM, start, end, start + item.end(), _marker(item), indent, path)
    else:
        quoted = re.match(r"[\s>]*", content)
        yield Block(BlockKind.PARAGRAPH, start, end, start + (quoted.end() if quoted else 0), headings=path)


def _lines(text: str) -> Iterator[Span]:
    start = 0
    for raw in text.splitlines(keepends=True):
        yield start, start + len(raw.rstrip("\r\n"))
        start += len(raw)


def _is_row(content: str) -> bool:
    return content.lstrip().startswith("|") and content.count("|") > 1


def _item(content: str) -> re.Match[str] | None:
    return _BULLET.match(content) or _ENUMERATOR.match(content)


def _marker(item: re.Match[str]) -> str:
    indent = len(item.group(1).expandtabs(4)) // 2
    if item.re is _BULLET:
        return f"{indent}{item.group(2)}"
    opened, name, closed = item.group(2), item.group(3), item.group(4)[0]
    if name[0].isdigit():
        kind = "1" + ".1" * name.count(".")
    elif len(name) > 1 or name in "ivxIVX":
        kind = "i" if name.islower() else "I"
    else:
        kind = "a" if name.islower() else "A"
    return f"{indent}{opened}{kind}{closed}"


def comparable(text: str) -> str:
    """Lower case words with ё as е, for comparing headings."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold().replace("ё", "е")))
