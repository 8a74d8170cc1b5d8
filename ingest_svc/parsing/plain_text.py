"""Plain text to blocks: pages removed, hard-wrapped lines joined, headings, lists and pipe tables found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ingest_svc.cleaning.contents import ContentsRegion, find_regions, is_contents_title
from ingest_svc.cleaning.hyphens import join_lines, vocabulary
from ingest_svc.cleaning.page_furniture import page_number_lines, running_lines
from ingest_svc.cleaning.spaces import tidy
from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.blocks import bullet_list, heading, paragraph
from ingest_svc.parsing.blocks import table as table_block
from ingest_svc.parsing.flow import bullet_text, continues, is_item, is_lone_bullet, is_terminated, wrap_width
from ingest_svc.parsing.line_headings import LineHeadings
from ingest_svc.parsing.pipe_tables import PIPE_RULE, split_row

_RULE = re.compile(r"^\s*(?:[-_=*~—–]\s?){4,}\s*$")
_LABEL_ONLY = re.compile(
    r"^(?:[IVXLC]+\.|[A-ZА-Я]\.|\d{1,2}(?:\.\d{1,3})*\.?|\(?[a-z]\)"
    r"|(?:Appendix|Annex|Приложение) [A-ZА-Я0-9]+)$"
)
_PAGE_GAP = "\f"


@dataclass(frozen=True, slots=True)
class TextBlocks:
    """Blocks of a text, and how many characters of page furniture were left out."""

    blocks: tuple[Block, ...]
    removed_characters: int


def parse_text(text: str, base_level: int = 1) -> TextBlocks:
    """Blocks of plain text.

    Args:
        text: the whole text, any line ends; form feeds are page breaks.
        base_level: level of the outermost headings, 1-6.
    """
    lines = [tidy(line) if line != _PAGE_GAP else line for line in _split(text)]
    lines, removed = _without_furniture(lines)
    regions = find_regions(lines)
    lines = _attach_labels(lines, regions)
    regions = find_regions(lines)
    in_contents = frozenset(at for region in regions for at in range(region.start, region.end))
    titles = frozenset().union(*(region.titles for region in regions))
    prose = [line for at, line in enumerate(lines) if at not in in_contents]
    words = vocabulary(prose)
    width = wrap_width([line for line in prose if not line.startswith("|")])
    headings = LineHeadings(titles, width, base_level)
    blocks: list[Block] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line or line == _PAGE_GAP or _RULE.match(line) or is_lone_bullet(line):
            at += 1
        elif at in in_contents:
            end = next(region.end for region in regions if region.start <= at < region.end)
            blocks.extend(_contents_blocks(lines[at:end]))
            at = end
        elif (end := _table_end(lines, at)) > at:
            made = table_block([split_row(row) for row in lines[at:end] if not PIPE_RULE.match(row)])
            blocks.extend([made] if made else [])
            at = end
        elif found := headings.at(lines, at):
            blocks.append(heading(found.text, found.level))
            at = found.end
        else:
            at = _read_paragraph(lines, at, width, words, headings, in_contents, blocks)
    return TextBlocks(tuple(_group_items(blocks)), removed)


def _split(text: str) -> list[str]:
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0b", "\n").replace("\u2028", "\n")
    return text.replace("\f", f"\n{_PAGE_GAP}\n").split("\n")


def _without_furniture(lines: list[str]) -> tuple[list[str], int]:
    """Page numbers and running headers become page gaps, which paragraphs may cross."""
    feeds = frozenset(at for at, line in enumerate(lines) if line == _PAGE_GAP)
    inside = {at for region in find_regions(lines) for at in range(region.start, region.end)}
    numbers = page_number_lines(["" if at in inside else line for at, line in enumerate(lines)])
    running = running_lines(lines, numbers | feeds)
    removed = sum(len(lines[at]) + 1 for at in numbers | running)
    return [_PAGE_GAP if at in numbers or at in running else line for at, line in enumerate(lines)], removed


def _attach_labels(lines: list[str], regions: Sequence[ContentsRegion]) -> list[str]:
    """ "IV." on a line of its own and the text that follows it become one line."""
    in_contents = {at for region in regions for at in range(region.start, region.end)}
    result = list(lines)
    for at, line in enumerate(lines):
        if at in in_contents or not _LABEL_ONLY.match(line):
            continue
        following = next(
            (i for i in range(at + 1, min(at + 4, len(lines))) if lines[i] and lines[i] != _PAGE_GAP), None
        )
        if following is None or following in in_contents or _LABEL_ONLY.match(lines[following]):
            continue
        text = lines[following]
        dotted = not line.isdigit()
        if text[0].isupper() and (dotted or (len(text) <= 80 and not is_terminated(text))):
            result[at] = ""
            result[following] = f"{line} {text}"
            for between in range(at + 1, following):
                if result[between] != _PAGE_GAP:
                    result[between] = ""
    return result


def _contents_blocks(lines: Sequence[str]) -> list[Block]:
    """A table of contents as a heading and one block with a line per entry; cleaning drops both."""
    entries = [line for line in lines if line and line != _PAGE_GAP]
    made: list[Block] = []
    if entries and is_contents_title(entries[0]):
        made.append(Block(BlockKind.PARAGRAPH, entries.pop(0)))
    if entries:
        made.append(Block(BlockKind.PARAGRAPH, "\n".join(entries)))
    return made


def _table_end(lines: Sequence[str], at: int) -> int:
    """End of the pipe table that starts at `at`; `at` when none does."""
    if not lines[at].startswith("|") or at + 1 >= len(lines) or not PIPE_RULE.match(lines[at + 1]):
        return at
    end = at + 2
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    return end


def _read_paragraph(
    lines: Sequence[str],
    at: int,
    width: int,
    words: frozenset[str],
    headings: LineHeadings,
    in_contents: frozenset[int],
    blocks: list[Block],
) -> int:
    """Appends the paragraph that starts at `at`; returns the index after it."""
    text = lines[at]
    last = lines[at]
    at += 1
    while at < len(lines):
        gap = at
        while gap < len(lines) and lines[gap] in {"", _PAGE_GAP}:
            gap += 1
        if gap >= len(lines) or gap in in_contents:
            break
        line = lines[gap]
        if _RULE.match(line) or is_lone_bullet(line) or line.startswith("|"):
            break
        if gap > at:
            # Over a page break only the middle of a sentence goes on.
            crosses_page = _PAGE_GAP in lines[at:gap]
            goes_on = crosses_page and not is_terminated(last) and (line[0].islower() or last.endswith("-"))
        else:
            goes_on = continues(last, line, width) and not headings.at(lines, gap, inside=True)
        if not goes_on or (gap > at and is_item(line)):
            break
        text = join_lines(text, line, words)
        last = line
        at = gap + 1
    bullet = bullet_text(text)
    if bullet is not None:
        blocks.append(Block(BlockKind.LIST, f"- {tidy(bullet)}"))
    else:
        blocks.append(paragraph(text))
    return at


def _group_items(blocks: Sequence[Block]) -> list[Block]:
    """Neighbouring bullets become one list."""
    grouped: list[Block] = []
    for block in blocks:
        if block.kind is BlockKind.LIST and grouped and grouped[-1].kind is BlockKind.LIST:
            grouped[-1] = bullet_list([grouped[-1].text, block.text])
        else:
            grouped.append(block)
    return grouped
