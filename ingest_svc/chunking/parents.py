"""Parents: a recursive split along the Markdown structure, then packing of small neighbours.

1. A section that fits the limit is never cut; neither is a document that fits.
2. A section that does not fit is taken apart into the blocks before its first subsection and its subsections,
   each by the same rule; a block over the limit is cut between rows, items or sentences.
3. What results is joined into as few parents as the limit allows, cut at the best boundaries (FINDINGS:
   fuller parents gave +8 points evidence@5).

What may be joined: pieces under a common heading always, since their document says that they belong together.
Across the top-level boundary of a document with several top headings (chapters, or several acts in one file)
only whole sections without subsections, which are short and complete in themselves (a glossary's terms, the
notes before a chapter): a piece of a chapter never gets a neighbour from another chapter. Text before the
first heading, and headings that have nothing under them, go with what follows. No parent ends in a heading
whose content is in the next one. With `pack_sections` off, only blocks of the same section are joined.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ingest_svc.chunking.identity import CHUNKING_VERSION, citation_id
from ingest_svc.chunking.model import Boundary, ChunkLimits, Parent, Segment
from ingest_svc.chunking.outline import Section, common_path, outline
from ingest_svc.chunking.partition import best_partition
from ingest_svc.chunking.pieces import prose_pieces, rows
from ingest_svc.chunking.ranges import Range
from ingest_svc.chunking.tables import header_of
from ingest_svc.chunking.tokens import TokenMap
from ingest_svc.document import BlockKind, PlacedBlock

# A parent costs 1: saving one is worth three cuts inside a block or ten between blocks. Chosen, not measured.
_CUT_COST = {
    Boundary.SECTION: 0.0,
    Boundary.BLOCK: 0.1,
    Boundary.ITEM: 0.15,
    Boundary.SENTENCE: 0.3,
    Boundary.CLAUSE: 0.5,
    Boundary.WORD: 0.8,
    Boundary.INSIDE_WORD: 1.0,
}
_DEPTH_COST = 0.02  # a heading level: cuts before outer headings are better than before inner ones
_LEAD_IN_COST = 0.5  # a cut between "as follows:" and what follows
_STRANDED_HEADING_COST = 100.0  # never, unless the heading fills more than half of a parent
_UNEVENNESS_COST = 0.2  # of a nearly empty parent

# Neighbours that together are below this share of the limit are joined beforehand: it bounds the work on
# documents that consist of crumbs (OCR of a drawing, one letter a line).
_CRUMB = 32


@dataclass(frozen=True, slots=True)
class _Item:
    """Segments that stay together.

    Attributes:
        segments: in order.
        section: which section they are the whole or own blocks of (ordinal of its first block).
        top: which of the document's top sections they belong to, from 1; 0 = text before the first heading.
        complete: True when they are a whole top section, and one without subsections.
    """

    segments: tuple[Segment, ...]
    section: int
    top: int
    complete: bool = False


def split_parents(
    text: str,
    placed: Sequence[PlacedBlock],
    tokens: TokenMap,
    limits: ChunkLimits,
    *,
    document_id: str,
    version: int,
) -> list[Parent]:
    """The parents of a document, in order.

    Their `source` ranges follow each other and leave out only white space. Only one thing makes a parent
    longer than `limits.parent_tokens`: a table row that is longer by itself, or with its header and the
    headings directly above it.

    Args:
        text, placed: what `ingest_svc.document.render` returned.
        tokens: tokens of `text`.
        limits: sizes.
        document_id, version: become part of the citation ids.
    """
    runs = _Splitter(text, tokens, limits).runs(outline(text, placed, tokens))
    return [_parent(text, run, ordinal, document_id, version) for ordinal, run in enumerate(runs)]


def parent_size(parent: Parent, tokens: TokenMap) -> int:
    """Tokens of the parent's text, without prefix and special tokens, from those of its document."""
    header = parent.repeated_header
    return tokens.count(*parent.source) + (0 if header is None else tokens.count(*header))


def parent_tokens(parent: Parent, tokens: TokenMap) -> TokenMap:
    """The tokens of the parent's text, from those of its document."""
    if parent.repeated_header is None:
        return tokens.joined([(parent.source, 0)])
    offset = len(parent.text) - (parent.source[1] - parent.source[0])
    return tokens.joined([(parent.repeated_header, 0), (parent.source, offset)])


@dataclass(frozen=True, slots=True)
class _Splitter:
    text: str
    tokens: TokenMap
    limits: ChunkLimits

    def runs(self, root: Section) -> list[tuple[Segment, ...]]:
        """The segments of each parent."""
        everything = tuple(root.segments())
        if not everything:
            return []
        if self._size(everything) <= self.limits.parent_tokens:
            return [everything]
        items = [_Item(run, 0, top=0) for run in self._blocks((), root.content)]
        for top, section in enumerate(root.sections, start=1):
            parts = list(self._items(section, (), top))
            complete = len(parts) == 1 and not section.sections
            items.extend(replace(part, complete=complete) for part in parts)
        return self._join(items, several_tops=len(root.sections) > 1)

    def _items(self, section: Section, before: tuple[Segment, ...], top: int) -> Iterator[_Item]:
        """The section whole, or what it is cut into; `before` are headings without content above it."""
        run = (*before, *section.segments())
        own = run[0].block
        if self._size(run) <= self.limits.parent_tokens:
            yield _Item(run, own, top)
            return
        headings = (*before, *section.headings())
        if section.content or not section.sections:
            for blocks in self._blocks(headings, section.content):
                yield _Item(blocks, own, top)
            headings = ()
        for inner in section.sections:
            yield from self._items(inner, headings, top)
            headings = ()

    def _blocks(self, headings: tuple[Segment, ...], content: list[Segment]) -> list[tuple[Segment, ...]]:
        """The headings together, then each block or its pieces; the first must fit beside the headings."""
        limit = self.limits.parent_tokens
        reserved = self._size(headings) if headings else 0
        runs: list[tuple[Segment, ...]] = []
        if reserved > limit // 2:
            # No real headings: misread paragraphs. They are cut like those.
            for heading in headings:
                runs.extend((piece,) for piece in prose_pieces(self.text, heading, self.tokens, limit))
            reserved = 0
        elif headings:
            runs.append(headings)
        for block in content:
            if self._size((block,)) <= limit - reserved:
                runs.append((block,))
            elif block.kind is BlockKind.TABLE:
                header = block.table_header
                if header is not None and self.tokens.count(*header) > limit // 2:
                    # Repeating such a header would leave little but headers; the report counts these tables.
                    bare = replace(block, table_header=None)
                    runs.extend((row,) for row in rows(self.text, bare, header_apart=True))
                else:
                    runs.extend((row,) for row in rows(self.text, block))
            else:
                runs.extend(
                    (piece,) for piece in prose_pieces(self.text, block, self.tokens, limit - reserved)
                )
            reserved = 0
        return runs

    def _join(self, items: list[_Item], several_tops: bool) -> list[tuple[Segment, ...]]:
        """The items in as few runs as limit and `_may_join` allow."""
        items = self._without_crumbs(items, several_tops)
        cut_costs = [self._cut_cost(items, position) for position in range(1, len(items) + 1)]

        def cost(first: int, stop: int) -> float | None:
            size = self._size((items[first].segments[0], items[stop - 1].segments[-1]))
            if stop - first > 1:
                part = items[first:stop]
                if size > self.limits.parent_tokens and not self._is_headed_row(part):
                    return None
                if not self._may_join(part, several_tops):
                    return math.inf
            emptiness = max(0.0, 1 - size / self.limits.parent_tokens)
            return 1 + _UNEVENNESS_COST * emptiness**2 + cut_costs[stop - 1]

        return [
            tuple(segment for item in items[first:stop] for segment in item.segments)
            for first, stop in best_partition(len(items), cost)
        ]

    def _without_crumbs(self, items: list[_Item], several_tops: bool) -> list[_Item]:
        kept: list[_Item] = []
        for item in items:
            if kept and self._are_crumbs(kept[-1], item) and self._may_join([kept[-1], item], several_tops):
                complete = item.complete and (kept[-1].complete or not kept[-1].top)
                item = _Item((*kept[-1].segments, *item.segments), item.section, item.top, complete)
                kept.pop()
            kept.append(item)
        return kept

    def _are_crumbs(self, left: _Item, right: _Item) -> bool:
        first, following = left.segments[0], right.segments[0]
        if following.boundary is Boundary.SECTION and (
            first.boundary is not Boundary.SECTION or len(following.path) < len(first.path)
        ):
            return False  # the better place to cut must stay
        return self._size((first, right.segments[-1])) <= self.limits.parent_tokens // _CRUMB

    def _may_join(self, part: Sequence[_Item], several_tops: bool) -> bool:
        if not self.limits.pack_sections:
            return part[0].section == part[-1].section
        if not several_tops or part[0].top == part[-1].top:
            return True
        # Text before the first heading goes with what follows.
        headed = [item for item in part if item.top]
        return headed[0].top == headed[-1].top or all(item.complete for item in headed)

    def _cut_cost(self, items: Sequence[_Item], position: int) -> float:
        """Of a cut before the item at `position`."""
        if position == len(items):
            return 0.0
        last, following = items[position - 1].segments[-1], items[position].segments[0]
        if last.kind is BlockKind.HEADING and last.block != following.block:
            return _STRANDED_HEADING_COST
        cost = _CUT_COST[following.boundary]
        if following.boundary is Boundary.SECTION:
            cost += _DEPTH_COST * len(following.path)
        return cost + _LEAD_IN_COST if is_lead_in(self.text, last) else cost

    def _is_headed_row(self, part: Sequence[_Item]) -> bool:
        """True for headings with one table row under them, which no cut can help."""
        *headings, row = (segment for item in part for segment in item.segments)
        return (
            row.kind is BlockKind.TABLE
            and all(heading.kind is BlockKind.HEADING for heading in headings)
            and self._size(headings) <= self.limits.parent_tokens // 2
            and len(rows(self.text, row)) == 1
        )

    def _size(self, run: Sequence[Segment]) -> int:
        """Tokens of a parent of these segments (only the first and the last are looked at)."""
        size = self.tokens.count(run[0].start, run[-1].end)
        if run[0].continues_table and run[0].table_header is not None:
            size += self.tokens.count(*run[0].table_header)
        return size


def is_lead_in(text: str, segment: Segment) -> bool:
    """True for text that announces what follows: it ends in a colon."""
    if segment.kind is BlockKind.TABLE:
        return False
    # A few closing marks of emphasis may follow the colon.
    return text[max(segment.start, segment.end - 8) : segment.end].rstrip("*_ \n").endswith(":")


def _parent(text: str, run: Sequence[Segment], ordinal: int, document_id: str, version: int) -> Parent:
    source = run[0].start, run[-1].end
    repeated = run[0].table_header if run[0].continues_table else None
    prefix = "" if repeated is None else text[repeated[0] : repeated[1]] + "\n"
    parent_text = prefix + text[source[0] : source[1]]
    pages = [segment.pages for segment in run if segment.pages is not None]
    return Parent(
        citation_id=citation_id(document_id, version, CHUNKING_VERSION, ordinal, parent_text),
        ordinal=ordinal,
        text=parent_text,
        section_path=tuple(heading.title for heading in common_path(run)),
        pages=(min(first for first, _ in pages), max(last for _, last in pages)) if pages else None,
        source=source,
        repeated_header=repeated,
        segments=_inside(parent_text, _rejoined(run), len(prefix) - source[0]),
    )


def _rejoined(run: Sequence[Segment]) -> list[Segment]:
    """Pieces of one block as one segment again."""
    joined: list[Segment] = []
    for segment in run:
        if joined and joined[-1].block == segment.block:
            joined[-1] = replace(joined[-1], end=segment.end)
        else:
            joined.append(segment)
    return joined


def _inside(parent_text: str, segments: Sequence[Segment], shift: int) -> tuple[Segment, ...]:
    """The segments in code points of the parent's text; a repeated header belongs to its table again."""
    placed: list[Segment] = []
    for index, segment in enumerate(segments):
        start = 0 if index == 0 else segment.start + shift
        end = segment.end + shift
        header: Range | None = header_of(parent_text, start, end) if segment.kind is BlockKind.TABLE else None
        placed.append(replace(segment, start=start, end=end, table_header=header))
    return tuple(placed)
