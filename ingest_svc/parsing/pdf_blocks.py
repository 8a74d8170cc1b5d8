"""Lines, tables and figures of a PDF to blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ingest_svc.cleaning.hyphens import SOFT_HYPHEN, vocabulary
from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.blocks import heading, paragraph, table
from ingest_svc.parsing.flow import bullet_text
from ingest_svc.parsing.pdf_groups import Group, begins_item, group_lines
from ingest_svc.parsing.pdf_headings import HeadingLevels, heading_key, ranks
from ingest_svc.parsing.pdf_model import Element, PdfFigure, PdfLine, PdfOcr, PdfTable
from ingest_svc.parsing.pdf_typography import typography

_NUMBERED = re.compile(r"^(\d{1,2})[.)]\s+\S")
# Numbered paragraphs longer than this are no list items, code points.
_MAX_ITEM = 600
# Items that begin this far to the right of others, in points, are below them.
_INDENT = 7.0


def pdf_blocks(elements: Sequence[Element]) -> list[Block]:
    """Blocks in reading order."""
    lines = [element for element in elements if isinstance(element, PdfLine)]
    waiting = _waiting(elements)
    blocks: list[tuple[Block, float]] = []
    if lines:
        words = vocabulary_of(lines)
        groups = group_lines(lines, typography(lines))
        keys = {
            group.start: heading_key(group.lines[0].size, group.lines[0].bold, group.text(frozenset()))
            for group in groups
            if group.is_heading
        }
        levels = HeadingLevels(ranks(list(keys.values())))
        for group in groups:
            while waiting and waiting[0][0] <= group.start:
                blocks.extend((block, 0.0) for block in _placed(waiting.pop(0)[1]))
            level = levels.level(keys[group.start][0]) if group.is_heading else 0
            blocks.append((_made(group, level, words), group.lines[0].x0))
    blocks.extend((block, 0.0) for _, element in waiting for block in _placed(element))
    return _with_lists([(block, x) for block, x in blocks if block.text.strip()])


def vocabulary_of(lines: Sequence[PdfLine]) -> frozenset[str]:
    """Words that stand whole in the lines; the two halves of one that a line end cut are none."""
    whole: list[str] = []
    cut = False
    for line in lines:
        whole.append(line.text.partition(" ")[2] if cut else line.text)
        cut = line.text[-1:] in "-\u2010" + SOFT_HYPHEN
    return vocabulary(whole)


def _waiting(elements: Sequence[Element]) -> list[tuple[int, PdfTable | PdfFigure | PdfOcr]]:
    """What is no line, each with the number of lines before it."""
    found: list[tuple[int, PdfTable | PdfFigure | PdfOcr]] = []
    count = 0
    for element in elements:
        if isinstance(element, PdfLine):
            count += 1
        else:
            found.append((count, element))
    return found


def _placed(element: PdfTable | PdfFigure | PdfOcr) -> list[Block]:
    if isinstance(element, PdfOcr):
        return list(element.blocks)
    if isinstance(element, PdfFigure):
        return [paragraph(element.text, (element.page, element.page))]
    made = table(element.rows, (element.page, max(element.page, element.last_page)))
    title = [paragraph(element.title, (element.page, element.page))] if element.title else []
    return title + ([made] if made is not None else [])


def _made(group: Group, level: int, words: frozenset[str]) -> Block:
    if group.is_contents:
        return Block(BlockKind.PARAGRAPH, "\n".join(line.text for line in group.lines), 0, group.pages)
    text = group.text(words)
    if group.is_heading:
        return heading(text, level, group.pages)
    bullet = bullet_text(text)
    if bullet is not None:
        return Block(BlockKind.LIST, f"- {paragraph(bullet).text}", 0, group.pages)
    if begins_item(text) and not text[0].isalnum() and text[0] not in "(":
        return Block(BlockKind.LIST, f"- {paragraph(text).text}", 0, group.pages)
    return paragraph(text, group.pages)


def _with_lists(blocks: Sequence[tuple[Block, float]]) -> list[Block]:
    """Neighbouring bullets become one list with its indentation; so do short paragraphs numbered in a row."""
    result: list[Block] = []
    margins: list[float] = []
    for at, (block, x) in enumerate(blocks):
        last = result[-1] if result else None
        if block.kind is BlockKind.LIST and last is not None and last.kind is BlockKind.LIST and margins:
            while len(margins) > 1 and x < margins[-1] - _INDENT:
                margins.pop()
            if x > margins[-1] + _INDENT:
                margins.append(x)
            result[-1] = _appended(last, block, "  " * (len(margins) - 1))
            continue
        margins = [x] if block.kind is BlockKind.LIST else []
        number = _number(block)
        if number is not None:
            previous = _last_number(last)
            following = _number(blocks[at + 1][0]) if at + 1 < len(blocks) else None
            if last is not None and last.kind is BlockKind.LIST and previous == number - 1:
                result[-1] = _appended(last, block, "")
                continue
            if following == number + 1:
                block = Block(BlockKind.LIST, block.text, 0, block.pages)
        result.append(block)
    return result


def _appended(last: Block, block: Block, indent: str) -> Block:
    assert last.pages is not None
    assert block.pages is not None
    pages = (min(last.pages[0], block.pages[0]), max(last.pages[1], block.pages[1]))
    return Block(BlockKind.LIST, f"{last.text}\n{indent}{block.text}", 0, pages)


def _number(block: Block) -> int | None:
    """The number of a short numbered paragraph."""
    if block.kind is not BlockKind.PARAGRAPH or len(block.text) > _MAX_ITEM or "\n" in block.text:
        return None
    match = _NUMBERED.match(block.text)
    return int(match.group(1)) if match else None


def _last_number(block: Block | None) -> int | None:
    match = _NUMBERED.match(block.text.rsplit("\n", 1)[-1]) if block is not None else None
    return int(match.group(1)) if match else None
