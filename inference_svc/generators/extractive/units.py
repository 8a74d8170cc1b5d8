"""Cuts passages into units: the least pieces that may be shown alone, each with what governs it.

A sentence alone misleads when it is an item of a list ("The following are exempt:"), a row without its
header, or a sentence that ends in a colon. So an item carries its lead-ins, a row its header and group, and
a lead-in is only a unit together with its list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from inference_svc.generators.extractive.blocks import Block, BlockKind, parse_blocks
from inference_svc.generators.extractive.governing import label_before, parent_of, verdict_before
from inference_svc.generators.extractive.places import Span
from inference_svc.generators.extractive.sentences import last_sentence, split_sentences
from inference_svc.generators.generator import Grounding

# An item up to this length is read as a whole; longer ones sentence by sentence. A list up to this length is
# quoted whole, a longer one only item by item. Characters; about what a reader takes in at once.
MAX_ITEM: Final = 500
MAX_LIST: Final = 1400
MAX_LEAD_INS: Final = 3
MAX_ANSWER_BLOCKS: Final = 3
# "Available at https://...": where something stands, not what it says.
_ADDRESS: Final = re.compile(r"(?:https?://|www\.)\S+")


class UnitKind(StrEnum):
    """What a unit is."""

    SENTENCE = "sentence"
    ITEM = "item"
    LIST = "list"
    ROW = "row"


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a passage. All spans are code points [start, end) of the passage's text.

    Attributes:
        passage: index of the passage, 0 = best.
        block: index of its (first) block; neighbours are looked up there.
        span: its own words.
        lead_ins: sentences that govern it, outermost first: the question it answers, what opens its list.
        header, group, first_cell: of a row: header row, the row that names its group, and the cell above that
            an empty first cell continues.
        headings: heading path, outermost first.
    """

    passage: int
    block: int
    kind: UnitKind
    span: Span
    lead_ins: tuple[Span, ...] = ()
    header: Span | None = None
    group: Span | None = None
    first_cell: Span | None = None
    headings: tuple[str, ...] = ()

    def governing(self) -> tuple[Span, ...]:
        """Spans of everything that governs the unit."""
        row = (self.header, self.group, self.first_cell)
        return self.lead_ins + tuple(span for span in row if span is not None)


@dataclass(frozen=True, slots=True)
class ReadPassage:
    """A passage with its blocks and units."""

    source: Grounding
    blocks: tuple[Block, ...]
    units: tuple[Unit, ...]


def read_passage(source: Grounding, index: int) -> ReadPassage:
    """Reads one passage; `index` is its rank, 0 = best."""
    blocks = parse_blocks(source.text, source.section_path)
    return ReadPassage(source, blocks, tuple(_units(source.text, blocks, index)))


def _units(text: str, blocks: Sequence[Block], passage: int) -> Iterator[Unit]:
    for place, block in enumerate(blocks):
        if block.kind is BlockKind.TABLE:
            yield from _row_units(text, blocks, place, passage)
        elif block.kind is not BlockKind.HEADING:
            yield from _text_units(text, blocks, place, passage)


def _text_units(text: str, blocks: Sequence[Block], place: int, passage: int) -> Iterator[Unit]:
    block = blocks[place]
    sentences = list(split_sentences(text, block.body, block.end))
    question = question_before(text, blocks, place)
    verdict = verdict_before(text, blocks, place, question[0]) if question else ()
    lead_ins = label_before(text, blocks, place) + question + verdict
    lead_ins += lead_ins_of(text, blocks, place) or parent_of(text, blocks, place)
    governed = governed_blocks(text, blocks, place)
    if governed:
        last = sentences.pop()
        end = blocks[governed[-1]].end
        if end - last[0] <= MAX_LIST and blocks[governed[-1]].kind is not BlockKind.TABLE:
            yield Unit(passage, place, UnitKind.LIST, (last[0], end), lead_ins, headings=block.headings)
    if not sentences or not any(map(str.isalnum, text[block.body : block.end])):
        return
    if block.kind is BlockKind.ITEM and _asks(text[block.start : block.end]):
        sentences.pop()
    elif block.kind is BlockKind.ITEM and not governed and block.end - block.body <= MAX_ITEM:
        yield Unit(passage, place, UnitKind.ITEM, (block.body, block.end), lead_ins, headings=block.headings)
        return
    for sentence in sentences:
        if _says_something(text[slice(*sentence)]):
            yield Unit(passage, place, UnitKind.SENTENCE, sentence, lead_ins, headings=block.headings)


def _row_units(text: str, blocks: Sequence[Block], place: int, passage: int) -> Iterator[Unit]:
    block = blocks[place]
    header, rows = _header_and_rows(text, block)
    lead_ins = label_before(text, blocks, place) + caption_of(text, blocks, place)
    group: Span | None = None
    first_cell: Span | None = None
    for row in rows:
        cells = cell_spans(text, row)
        filled = [text[slice(*cell)] for cell in cells if cell[0] < cell[1]]
        if not filled:
            continue
        if len(cells) > 1 and len(set(filled)) == 1 and cells[0][0] < cells[0][1]:
            group = cells[0]
            continue
        if cells[0][0] < cells[0][1]:
            first_cell = cells[0]
        continued = None if cells[0][0] < cells[0][1] else first_cell
        span = (next(cell for cell in cells if cell[0] < cell[1])[0], max(cell[1] for cell in cells))
        yield Unit(passage, place, UnitKind.ROW, span, lead_ins, header, group, continued, block.headings)


def _header_and_rows(text: str, block: Block) -> tuple[Span | None, tuple[Span, ...]]:
    """The header, with the row under it that only goes on with it (units, no first cell), and the rest."""
    if not block.has_header:
        return None, block.rows
    header, rows = block.rows[0], block.rows[1:]
    if len(rows) > 1:
        cells = cell_spans(text, rows[0])
        values = [text[slice(*cell)] for cell in cells if cell[0] < cell[1]]
        if cells[0][0] == cells[0][1] and values and not re.search(r"\d", " ".join(values)):
            return (header[0], rows[0][1]), rows[1:]
    return header, rows


def question_before(text: str, blocks: Sequence[Block], place: int) -> tuple[Span, ...]:
    """The question that a passage of questions and answers puts before this block, at most
    MAX_ANSWER_BLOCKS up."""
    for above in reversed(blocks[max(0, place - MAX_ANSWER_BLOCKS) : place]):
        if above.kind not in (BlockKind.PARAGRAPH, BlockKind.ITEM):
            break
        if _asks(text[above.start : above.end]):
            return (last_sentence(text, above.body, above.end),)
    return ()


def _asks(content: str) -> bool:
    return content.rstrip(' \n*_"”»)').endswith("?")


def lead_ins_of(text: str, blocks: Sequence[Block], place: int) -> tuple[Span, ...]:
    """Sentences that govern the item at `place`, outermost first; () for what is no item."""
    block = blocks[place]
    if block.kind is not BlockKind.ITEM:
        return ()
    seen = {block.marker}
    indent = block.indent
    found: list[Span] = []
    for above in reversed(blocks[:place]):
        if above.kind is BlockKind.HEADING or len(found) == MAX_LEAD_INS:
            break
        if above.kind is BlockKind.TABLE:
            continue
        leads = is_lead_in(text[above.start : above.end])
        if above.kind is BlockKind.ITEM:
            if above.marker in seen:
                continue
            if leads or above.indent < indent:
                found.append(last_sentence(text, above.body, above.end))
                indent = above.indent
            seen.add(above.marker)
        elif leads:
            found.append(last_sentence(text, above.body, above.end))
            break
        elif not found and above is blocks[place - 1]:
            break
    return tuple(reversed(found))


def governed_blocks(text: str, blocks: Sequence[Block], place: int) -> tuple[int, ...]:
    """Indices of the items (or the table) that the block's last sentence leads in; () when it leads in
    nothing."""
    block = blocks[place]
    if not is_lead_in(text[block.start : block.end]) or place + 1 >= len(blocks):
        return ()
    following = blocks[place + 1]
    if following.kind is BlockKind.TABLE:
        return (place + 1,)
    if following.kind is not BlockKind.ITEM or following.marker == block.marker:
        # "... as follows:" and one plain paragraph.
        return (place + 1,) if following.kind is BlockKind.PARAGRAPH else ()
    governed: list[int] = []
    for index in range(place + 1, len(blocks)):
        below = blocks[index]
        ends = below.kind is not BlockKind.ITEM or (
            block.kind is BlockKind.ITEM and below.marker == block.marker
        )
        if ends:
            break
        governed.append(index)
    return tuple(governed)


def caption_of(text: str, blocks: Sequence[Block], place: int) -> tuple[Span, ...]:
    """The sentence over a table that introduces or names it."""
    if place == 0 or blocks[place - 1].kind not in (BlockKind.PARAGRAPH, BlockKind.ITEM):
        return ()
    above = blocks[place - 1]
    last = last_sentence(text, above.body, above.end)
    content = text[slice(*last)]
    named = re.match(r"\W*(?:table|таблица|табл\.)\s", text[above.body : above.end], re.IGNORECASE)
    if named and above.end - above.body <= MAX_ITEM:
        return ((above.body, above.end),)
    return (last,) if is_lead_in(content) else ()


def is_lead_in(content: str) -> bool:
    """Whether a text ends by opening a list."""
    return content.rstrip(" \n*_").endswith((":", "—", "–"))


def cell_spans(text: str, row: Span) -> list[Span]:
    """Spans of a pipe row's cells without white space around; an empty cell is an empty span."""
    start, end = row
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end and text[start] == "|":
        start += 1
    if end > start and text[end - 1] == "|" and text[end - 2 : end - 1] != "\\":
        end -= 1
    cells: list[Span] = []
    opened = start
    for bar in re.finditer(r"(?<!\\)\|", text[start:end]):
        cells.append(_stripped(text, opened, start + bar.start()))
        opened = start + bar.end()
    cells.append(_stripped(text, opened, end))
    return cells


def _stripped(text: str, start: int, end: int) -> Span:
    while start < end and text[start] in " \t":
        start += 1
    while end > start and text[end - 1] in " \t":
        end -= 1
    return start, end


def _says_something(content: str) -> bool:
    """A sentence of three words, or five without a full stop: less is a label, a page number, a stray
    title. A question says nothing, it governs its answer."""
    if _asks(content):
        return False
    words = len(re.findall(r"[^\W_]+", _ADDRESS.sub(" ", content)))
    return words >= (3 if content.rstrip('*_ "”»)').endswith((".", "!", ";")) else 5)
