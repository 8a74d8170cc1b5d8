"""Cuts a passage into pieces that can hold one claim, with what governs it: sentences, list items, cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_HEADING: Final = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_RULER: Final = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_ITEM: Final = re.compile(r"^(\s*)(?:>\s*)?(?:[-*+•‣▪◦–—]|\(?(?:\d{1,3}|[A-Za-zА-Яа-яё]{1,2})[.)]+)\s+(?=\S)")
_SENTENCE: Final = re.compile(r"(?<=[.!?;])(?<!\b\w\.)\s+(?=[A-ZА-ЯЁ(\"«])")
# A longer piece is no sentence; what its numbers belong to cannot be told.
_MAX_CHARACTERS: Final = 600


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece.

    Attributes:
        start, end: its range in the passage, code points; a cell's is its row.
        text: its words.
        labels: head of its row and of its column; they belong to the claim as its words do.
        lead_ins: what governs it more loosely: lead-in of its list, group row.
        headings: heading path, outermost first.
    """

    start: int
    end: int
    text: str
    labels: tuple[str, ...]
    lead_ins: tuple[str, ...]
    headings: tuple[str, ...]


def segments(text: str, section_path: tuple[str, ...]) -> Iterator[Segment]:
    """All pieces of a passage in order; linear in its length."""
    headings: list[tuple[int, str]] = [(0, heading) for heading in section_path]
    lead_in = ""
    block: list[tuple[int, str]] = []
    is_table = False

    def flush() -> Iterator[Segment]:
        path = tuple(heading for _, heading in headings)
        leads = (lead_in,) if lead_in else ()
        yield from (_rows if is_table else _sentences)(block, leads, path)
        block.clear()

    position = 0
    for raw in text.splitlines(keepends=True):
        line = raw.rstrip("\r\n")
        start, position = position, position + len(raw)
        stripped = line.strip()
        if heading := _HEADING.match(line):
            yield from flush()
            level, words = len(heading.group(1)), heading.group(2)
            while headings and headings[-1][0] >= level:
                headings.pop()
            if all(words != known for _, known in headings):
                headings.append((level, words))
            lead_in, is_table = "", False
            continue
        row = stripped.startswith("|")
        item = _ITEM.match(line)
        if block and (row != is_table or not stripped or item):
            last = block[-1][1]
            was_item = bool(_ITEM.match(block[0][1]))
            yield from flush()
            if last.rstrip(" *_").endswith((":", "—")):
                lead_in = _SENTENCE.split(last.strip())[-1]
            elif stripped and not was_item and not item and not row:
                lead_in = ""
        if stripped:
            if not block and not item and not row:
                lead_in = ""
            is_table = row
            block.append((start, line))
    yield from flush()


def _sentences(
    lines: list[tuple[int, str]], leads: tuple[str, ...], path: tuple[str, ...]
) -> Iterator[Segment]:
    if not lines:
        return
    first, last = lines[0], lines[-1]
    base = first[0]
    # Offsets must stay: line ends between are padded with the line break itself.
    joined, position = "", base
    for start, line in lines:
        joined += "\n" * (start - position) + line
        position = start + len(line)
    mark = _ITEM.match(first[1])
    begin = mark.end() if mark else 0
    end = last[0] + len(last[1]) - base
    while begin < end:
        cut = _SENTENCE.search(joined, begin, end)
        stop = cut.start() if cut else end
        sentence = joined[begin:stop]
        if len(sentence) <= _MAX_CHARACTERS:
            lead = len(sentence) - len(sentence.lstrip())
            stripped = sentence.strip()
            if stripped:
                at = base + begin + lead
                yield Segment(at, at + len(stripped), stripped, (), leads, path)
        begin = cut.end() if cut else end


def _rows(lines: list[tuple[int, str]], leads: tuple[str, ...], path: tuple[str, ...]) -> Iterator[Segment]:
    ruler = next((place for place, (_, line) in enumerate(lines) if _RULER.match(line)), None)
    if not ruler:
        return
    header = _cells(lines[ruler - 1][1])
    group = ""
    for start, line in lines[ruler + 1 :]:
        if len(line) > _MAX_CHARACTERS:
            continue
        cells = _cells(line)
        filled = {cell for cell in cells if cell}
        if len(filled) == 1 and len(cells) > 1:
            group = next(iter(filled))
            continue
        names = [cell for cell in cells[:1] if cell]
        for place, cell in enumerate(cells[1:], start=1):
            column = header[place] if place < len(header) else ""
            if not any(map(str.isdigit, cell)):
                continue
            unit = re.search(r"\(([^()]{1,20})\)\s*$", column)
            words = f"{cell} {unit.group(1)}" if unit and not re.search(r"[^\W\d_]|%", cell) else cell
            yield Segment(
                start,
                start + len(line),
                words,
                (*names, re.sub(r"\([^()]*\)\s*$", "", column)),
                (*leads, *([group] if group else [])),
                path,
            )


def _cells(row: str) -> list[str]:
    return [cell.strip(" *_`") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]
