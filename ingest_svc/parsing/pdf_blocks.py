"""Lines of a PDF to headings, paragraphs, lists."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ingest_svc.cleaning.contents import find_regions, title_key
from ingest_svc.cleaning.hyphens import join_lines
from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.blocks import heading, paragraph
from ingest_svc.parsing.flow import bullet_text, is_item, is_lone_bullet, is_terminated
from ingest_svc.parsing.heading_marks import HeadingMark, heading_mark
from ingest_svc.parsing.pdf_lines import PdfLine

# Steps smaller than this are rounding, not another heading size.
_SIZE_STEP = 1.05
_MAX_HEADING_LINES = 4
_MAX_HEADING = 300


@dataclass(frozen=True, slots=True)
class PlacedTable:
    """A table block and where it stands on its page."""

    block: Block
    page: int
    top: float


@dataclass(frozen=True, slots=True)
class _Body:
    """Typography of the running text."""

    size: float
    width: float
    leading: float


def pdf_blocks(lines: Sequence[PdfLine], tables: Sequence[PlacedTable], words: frozenset[str]) -> list[Block]:
    """Blocks in reading order; `lines` are in reading order, page by page."""
    if not lines:
        return [table.block for table in tables]
    body = _body(lines)
    regions = find_regions([line.text for line in lines])
    contents = {at for region in regions for at in range(region.start, region.end)}
    titles = frozenset().union(*(region.titles for region in regions))
    groups = _groups(lines, contents, body, titles)
    levels = _Levels(_ranks([group for group in groups if group.is_heading]))
    pending = sorted(tables, key=lambda table: (table.page, table.top))
    blocks: list[Block] = []
    for group in groups:
        first = group.lines[0]
        while pending and (pending[0].page, pending[0].top) < (first.page, first.top):
            blocks.append(pending.pop(0).block)
        blocks.extend(_made(group, levels, words))
    blocks.extend(table.block for table in pending)
    return _with_lists(blocks)


@dataclass(frozen=True, slots=True)
class _Group:
    """Lines of one heading, paragraph or table of contents."""

    lines: tuple[PdfLine, ...]
    is_heading: bool = False
    is_contents: bool = False

    @property
    def pages(self) -> tuple[int, int]:
        return self.lines[0].page, self.lines[-1].page


def _body(lines: Sequence[PdfLine]) -> _Body:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    size = sizes.most_common(1)[0][0]
    widths = sorted(line.x1 - line.x0 for line in lines if line.size == size)
    steps = sorted(
        after.top - before.top
        for before, after in itertools.pairwise(lines)
        if before.page == after.page
        and before.column == after.column
        and 0 < after.top - before.top < 4 * size
    )
    leading = steps[len(steps) // 3] if steps else 1.2 * size
    return _Body(size, widths[int(0.9 * (len(widths) - 1))], leading)


def _groups(
    lines: Sequence[PdfLine], contents: set[int], body: _Body, titles: frozenset[str]
) -> list[_Group]:
    groups: list[_Group] = []
    current: list[PdfLine] = []
    current_heading = False

    def close() -> None:
        if current:
            groups.append(_Group(tuple(current), is_heading=current_heading))
            current.clear()

    at = 0
    while at < len(lines):
        line = lines[at]
        if at in contents:
            close()
            end = at
            while end in contents:
                end += 1
            groups.append(_Group(tuple(lines[at:end]), is_contents=True))
            at = end
            continue
        at += 1
        if is_lone_bullet(line.text):
            close()
            continue
        is_heading = _is_heading(line, lines, at - 1, body, titles)
        if current and is_heading == current_heading and _goes_on(current, line, body, is_heading):
            current.append(line)
            continue
        close()
        current_heading = is_heading
        current.append(line)
    close()
    return groups


def _is_heading(
    line: PdfLine, lines: Sequence[PdfLine], at: int, body: _Body, titles: frozenset[str]
) -> bool:
    text = line.text
    if line.cells >= 3:
        return False
    if not any(char.isalpha() for char in text) or len(text) > 200 or text[-1] in ";,":
        return False
    if line.size >= body.size * _SIZE_STEP and not (is_terminated(text) and len(text) > 80):
        # Larger text is a heading unless the page is set larger as a whole.
        return line.size >= body.size * 1.15 or line.bold or heading_mark(text) is not None
    if line.size < body.size / _SIZE_STEP:
        return False
    if line.bold:
        return _alone(line, lines, at, body)
    mark = heading_mark(text)
    if mark is not None and mark.strong and len(mark.title) <= 120:
        known = title_key(text) in titles
        before = lines[at - 1] if at else None
        gap = before is None or before.page != line.page or line.top - before.top > 1.4 * body.leading
        return known or (
            gap and line.x1 - line.x0 < 0.9 * body.width and not mark.style.startswith("decimal")
        )
    return False


def _alone(line: PdfLine, lines: Sequence[PdfLine], at: int, body: _Body) -> bool:
    """A bold line of body size heads a section when it does not run on into the lines around it."""
    after = lines[at + 1] if at + 1 < len(lines) else None
    before = lines[at - 1] if at else None
    if is_item(line.text) and heading_mark(line.text) is None and not line.text.isupper():
        return False
    runs_on = (
        after is not None and not after.bold and after.text[:1].islower() and not is_terminated(line.text)
    )
    runs_in = (
        before is not None
        and not before.bold
        and before.page == line.page
        and before.column == line.column
        and not is_terminated(before.text)
        and line.top - before.top <= 1.2 * body.leading
        and before.x1 - before.x0 > 0.8 * body.width
    )
    return not runs_on and not runs_in


def _goes_on(current: Sequence[PdfLine], line: PdfLine, body: _Body, is_heading: bool) -> bool:
    last = current[-1]
    if is_heading:
        same = abs(line.size - last.size) < 0.6 and line.bold == last.bold and line.page == last.page
        near = 0 <= line.top - last.top <= 1.5 * max(line.size * 1.2, body.leading * line.size / body.size)
        fresh = heading_mark(line.text) is not None or line.column != last.column
        total = sum(len(part.text) for part in current) + len(line.text)
        return same and near and not fresh and len(current) < _MAX_HEADING_LINES and total <= _MAX_HEADING
    if is_item(line.text) or abs(line.size - last.size) > 1.0 or max(line.cells, last.cells) >= 3:
        return False
    unfinished = not is_terminated(last.text)
    if line.page != last.page or line.column != last.column:
        # Over a page or column break only the middle of a sentence goes on.
        return (
            unfinished and (line.text[:1].islower() or last.text.endswith("-")) and line.page - last.page <= 1
        )
    if line.top - last.top > 1.45 * body.leading or line.top < last.top - body.size:
        return False
    # A line that stopped short of the margin ended its paragraph.
    right = max(body.width + min(part.x0 for part in current), max(part.x1 for part in current))
    first_word = len(line.text.split()[0]) * 0.5 * line.size
    if last.x1 + first_word < right - 0.12 * body.width and not line.text[:1].islower():
        return False
    indented = line.x0 - min(part.x0 for part in current[-2:]) > 1.2 * body.size
    return not (indented and is_terminated(last.text))


def _ranks(headings: Sequence[_Group]) -> dict[tuple[float, bool, str], int]:
    """Rank of each heading typography: larger before smaller, bold before light, then numbering styles.

    Numbering styles of one typography follow in the order in which they first appear.
    """
    order: dict[str, int] = {}
    keys: set[tuple[float, bool, str]] = set()
    for group in headings:
        key = _key(group)
        order.setdefault(key[2], len(order))
        keys.add(key)
    ranked = sorted(keys, key=lambda key: (-key[0], not key[1], order[key[2]]))
    return {key: place for place, key in enumerate(ranked)}


class _Levels:
    """Levels without holes: a heading is a child of the last one of higher rank."""

    def __init__(self, ranks: dict[tuple[float, bool, str], int]) -> None:
        self._ranks = ranks
        self._open: list[int] = []

    def level(self, group: _Group) -> int:
        rank = self._ranks[_key(group)]
        while self._open and self._open[-1] >= rank:
            self._open.pop()
        self._open.append(rank)
        return min(6, len(self._open))


def _key(group: _Group) -> tuple[float, bool, str]:
    first = group.lines[0]
    mark: HeadingMark | None = heading_mark(_joined(group, frozenset()))
    return round(first.size), first.bold, mark.style if mark else ""


def _joined(group: _Group, words: frozenset[str]) -> str:
    text = ""
    for line in group.lines:
        text = join_lines(text, line.text, words)
    return text


def _made(group: _Group, levels: _Levels, words: frozenset[str]) -> list[Block]:
    if group.is_contents:
        return [Block(BlockKind.PARAGRAPH, "\n".join(line.text for line in group.lines), 0, group.pages)]
    text = _joined(group, words)
    if group.is_heading:
        return [heading(text, levels.level(group), group.pages)]
    bullet = bullet_text(text)
    if bullet is not None:
        return [Block(BlockKind.LIST, f"- {paragraph(bullet).text}", 0, group.pages)]
    return [paragraph(text, group.pages)]


def _with_lists(blocks: Sequence[Block]) -> list[Block]:
    """Neighbouring bullets become one list."""
    result: list[Block] = []
    for block in blocks:
        last = result[-1] if result else None
        if block.kind is BlockKind.LIST and last is not None and last.kind is BlockKind.LIST:
            assert last.pages is not None
            assert block.pages is not None
            pages = (last.pages[0], block.pages[1])
            result[-1] = Block(BlockKind.LIST, f"{last.text}\n{block.text}", 0, pages)
        elif block.text.strip():
            result.append(block)
    return result
