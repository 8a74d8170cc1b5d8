"""Lines of a read page to Markdown blocks: headings, paragraphs, lists, tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from PIL import Image

from ingest_svc.cleaning.hyphens import join_lines, vocabulary
from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.blocks import heading, paragraph, table
from ingest_svc.parsing.flow import bullet_text, is_item, is_terminated
from ingest_svc.parsing.heading_marks import heading_mark
from ingest_svc.parsing.ocr.aligned_tables import FoundTable, aligned_tables
from ingest_svc.parsing.ocr.bullets import with_bullets
from ingest_svc.parsing.ocr.cells import rows_of
from ingest_svc.parsing.ocr.engine import Line, Word
from ingest_svc.parsing.ocr.frames import frames
from ingest_svc.parsing.ocr.heading_levels import MAX_HEADING, MAX_HEADING_LINES, StyledLine, with_levels
from ingest_svc.parsing.ocr.pixels import Ink, ink
from ingest_svc.parsing.ocr.ruled_tables import ruled_tables
from ingest_svc.parsing.ocr.sizes import body_size, line_size, stroke

# Measured on scans: bold strokes are 1.3 times as thick as regular ones of the same size, others within 1.1.
_BOLD = 1.25
# Distance of baselines inside a paragraph, in font sizes; double spacing is 2.4.
_MAX_LEADING = 1.9
# A line with this share of its column left white ended on purpose, whatever the next one begins with.
_SHORT_LINE = 0.4


@dataclass(slots=True)
class _Group:
    lines: list[StyledLine]
    level: int


def page_blocks(lines: tuple[Line, ...], image: Image.Image, page_number: int) -> tuple[Block, ...]:
    """Blocks in reading order.

    Args:
        lines: lines of the page without noise.
        image: the grey image they were read from, level and upright.
        page_number: from 1; every block gets (page_number, page_number) as pages.
    """
    if not lines:
        return ()
    size = body_size(lines) or 1.0
    pages = (page_number, page_number)
    words = vocabulary(line.text for line in lines)
    marks = ink(image)
    tables = _tables([word for line in lines for word in line.words], marks, size, words)
    blocks: list[Block] = []
    flow: list[Line] = []

    def flush() -> None:
        styled = _styled(with_bullets(flow, size), marks, size)
        blocks.extend(_made(group, words, pages) for group in _groups(styled, size))
        flow.clear()

    placed: set[int] = set()
    for part in [part for line in lines for part in _parts(line, tables)]:
        at = _table_of(part, tables)
        if at is None:
            flow.append(part)
        elif at not in placed:
            placed.add(at)
            flush()
            made = table(tables[at].rows, pages)
            if made is not None:
                blocks.append(made)
    flush()
    return tuple(_with_lists([block for block in blocks if block.text.strip()]))


def _tables(words: Sequence[Word], marks: Ink, size: float, vocabulary: frozenset[str]) -> list[FoundTable]:
    ruled = ruled_tables(words, frames(marks), size, vocabulary)
    taken = frozenset().union(*(found.words for found in ruled))
    free = [word for word in words if word not in taken]
    return [*ruled, *aligned_tables(rows_of(free, size), size)]


def _table_of(line: Line, tables: Sequence[FoundTable]) -> int | None:
    """Ordinal of the table that holds the line, or None."""
    return next((at for at, found in enumerate(tables) if line.words[0] in found.words), None)


def _parts(line: Line, tables: Sequence[FoundTable]) -> list[Line]:
    """The line, cut where it goes into a table or comes out: engines join what stands on one height."""
    parts: list[list[Word]] = []
    last: int | None = None
    for word in line.words:
        at = next((at for at, found in enumerate(tables) if word in found.words), None)
        if not parts or at != last:
            parts.append([])
        parts[-1].append(word)
        last = at
    return [replace(line, words=tuple(part)) for part in parts]


def _styled(lines: Sequence[Line], marks: Ink, body: float) -> list[StyledLine]:
    sizes = [line_size(line) or body for line in lines]
    weights = [stroke(line, marks) / size for line, size in zip(lines, sizes, strict=True)]
    usual = median(weights) if weights else 0.0
    return [
        StyledLine(line, line.text, size, usual > 0 and weight > _BOLD * usual, _right_edge(lines, at, body))
        for at, (line, size, weight) in enumerate(zip(lines, sizes, weights, strict=True))
    ]


def _right_edge(lines: Sequence[Line], at: int, body: float) -> int:
    """Of the engine's area of the page where that has several lines, else of the lines around."""
    line = lines[at]
    near = [other for other in lines[max(0, at - 20) : at + 21] if other.block == line.block]
    if len(near) < 3:
        near = [other for other in lines[max(0, at - 1) : at + 2] if abs(other.left - line.left) < 4 * body]
    return max(other.right for other in near)


def _groups(lines: Sequence[StyledLine], body: float) -> list[_Group]:
    groups: list[_Group] = []
    for line in _headed(with_levels(lines, body)):
        last = groups[-1] if groups else None
        if last is not None and last.level == line.level and _goes_on(last, line):
            last.lines.append(line)
        else:
            groups.append(_Group([line], line.level))
    return groups


def _headed(lines: list[StyledLine]) -> list[StyledLine]:
    """Headings right above what they head.

    At the foot of a column, above text of full width, engines read a heading before the next column.
    """
    result = list(lines)
    for at, foot in enumerate(lines):
        after = lines[at + 1] if at + 1 < len(lines) else None
        if not foot.level or after is None or after.level or after.line.top > foot.line.top:
            continue
        below = next((later for later in lines[at + 2 :] if _is_right_below(later, foot)), None)
        if below is None:
            continue
        first = at
        while first and lines[first - 1].level == foot.level and _is_right_below(foot, lines[first - 1]):
            first -= 1
        heading_lines = lines[first : at + 1]
        result = [line for line in result if line not in heading_lines]
        place = result.index(below)
        result[place:place] = heading_lines
    return result


def _is_right_below(line: StyledLine, above: StyledLine) -> bool:
    drop = line.line.bottom - above.line.bottom
    return 0 < drop < 3 * above.size and abs(line.line.left - above.line.left) < 3 * above.size


def _goes_on(group: _Group, line: StyledLine) -> bool:
    last = group.lines[-1]
    drop = line.line.bottom - last.line.bottom
    size = max(line.size, last.size)
    near = 0.3 * size < drop <= _MAX_LEADING * size
    if group.level:
        total = sum(len(part.text) for part in group.lines) + len(line.text)
        fresh = heading_mark(line.text) is not None or line.bold != last.bold
        same = abs(line.size - last.size) < 0.2 * size
        return near and same and not fresh and len(group.lines) < MAX_HEADING_LINES and total <= MAX_HEADING
    unfinished = not is_terminated(last.text)
    room = last.right - last.line.right
    # A dash may open an item or stand inside a sentence of running text that breaks there.
    dash = line.text[0] in "-–—" and not is_item(group.lines[0].text) and near and unfinished
    if is_item(line.text) and not (dash and room < 3 * size):
        return False
    if not near:
        # The head of the next column.
        return drop < 0 and unfinished and (line.text[:1].islower() or last.text.endswith("-"))
    if abs(line.size - last.size) > 0.25 * size and not (unfinished and line.text[:1].islower()):
        return False
    # A line that stopped short of the margin ended its paragraph.
    first_word = line.line.words[0].right - line.line.words[0].left
    if room > first_word + 1.5 * size and not line.text[:1].islower():
        return False
    if room > _SHORT_LINE * (last.right - last.line.left) and last.text[-1] != "-":
        return False
    indented = line.line.left - min(part.line.left for part in group.lines[-2:]) > 0.8 * size
    hanging = is_item(group.lines[0].text)
    return not (indented and not hanging and is_terminated(last.text))


def _made(group: _Group, words: frozenset[str], pages: tuple[int, int]) -> Block:
    text = ""
    for styled in group.lines:
        text = join_lines(text, styled.text, words)
    if group.level:
        return heading(text, group.level, pages)
    bullet = bullet_text(text)
    if bullet is not None:
        return Block(BlockKind.LIST, f"- {paragraph(bullet).text}", 0, pages)
    return paragraph(text, pages)


def _with_lists(blocks: Sequence[Block]) -> list[Block]:
    """Neighbouring bullets become one list, and so do neighbouring paragraphs that carry labels of a list."""
    result: list[Block] = []
    for at, block in enumerate(blocks):
        labelled = block.kind is BlockKind.PARAGRAPH and is_item(block.text)
        around = [blocks[other] for other in (at - 1, at + 1) if 0 <= other < len(blocks)]
        if labelled and any(other.kind is BlockKind.PARAGRAPH and is_item(other.text) for other in around):
            block = Block(BlockKind.LIST, block.text, 0, block.pages)
        last = result[-1] if result else None
        joins = last is not None and block.kind is BlockKind.LIST and last.kind is BlockKind.LIST
        if last is not None and joins and last.text.startswith("- ") == block.text.startswith("- "):
            result[-1] = Block(BlockKind.LIST, f"{last.text}\n{block.text}", 0, block.pages)
        else:
            result.append(block)
    return result
