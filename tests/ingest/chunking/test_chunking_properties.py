"""What must hold for every document, with limits small enough that everything gets cut."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ingest_svc.chunking.children import embedding_text
from ingest_svc.chunking.chunk import chunk_document
from ingest_svc.chunking.model import ChunkedDocument, ChunkLimits, Parent
from ingest_svc.chunking.outline import heading_title
from ingest_svc.chunking.tables import header_of
from ingest_svc.document import Block, BlockKind, PlacedBlock, render
from tests.ingest.chunking.chunking_documents import documents, offsets_of, token_map

OVERHEAD = 3
EXAMPLES = 40

limits_strategy = st.builds(
    ChunkLimits,
    parent_tokens=st.integers(60, 160),
    child_tokens=st.integers(46, 70),
    child_characters=st.integers(30, 90),
    margin_tokens=st.just(4),
    pack_sections=st.booleans(),
    heading_prefix=st.booleans(),
)


def chunk(
    blocks: tuple[Block, ...], limits: ChunkLimits
) -> tuple[str, tuple[PlacedBlock, ...], ChunkedDocument]:
    text, placed = render(blocks)
    chunked = chunk_document(
        text,
        placed,
        token_map(text),
        limits,
        document_id="d",
        version=1,
        overhead=OVERHEAD,
        title="A title",
        title_tokens=3,
    )
    return text, placed, chunked


def count(text: str) -> int:
    return len(offsets_of(text))


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents, limits_strategy)
def test_nothing_is_lost_or_doubled(blocks: tuple[Block, ...], limits: ChunkLimits) -> None:
    text, _, chunked = chunk(blocks, limits)
    position = 0
    for item in chunked.chunks:
        parent = item.parent
        start, end = parent.source
        assert not text[position:start].strip()
        assert start < end
        header = parent.repeated_header
        prefix = "" if header is None else text[slice(*header)] + "\n"
        assert parent.text == prefix + text[start:end]
        position = end
        inside = 0
        for child in item.children:
            assert not parent.text[inside : child.start].strip()
            assert child.text == parent.text[child.start : child.end]
            assert child.text.strip()
            inside = child.end
        assert not parent.text[inside:].strip()
        assert [child.ordinal for child in item.children] == list(range(len(item.children)))
    assert not text[position:].strip()
    assert [item.parent.ordinal for item in chunked.chunks] == list(range(len(chunked.chunks)))


def only_one_row(parent: Parent) -> bool:
    content = [s for s in parent.segments if s.kind is not BlockKind.HEADING]
    if [s.kind for s in content] != [BlockKind.TABLE]:
        return False
    lines = parent.text[content[0].start : content[0].end].split("\n")
    header = header_of(parent.text, content[0].start, content[0].end)
    return len(lines) - (2 if header else 0) <= 1


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents, limits_strategy)
def test_limits_hold_but_for_reported_rows(blocks: tuple[Block, ...], limits: ChunkLimits) -> None:
    _, _, chunked = chunk(blocks, limits)
    reported = {row.parent for row in chunked.report.indivisible_rows}
    for item in chunked.chunks:
        parent = item.parent
        if parent.ordinal in reported:
            assert only_one_row(parent)
        else:
            assert count(parent.text) <= limits.parent_tokens
        for child in item.children:
            embedded = count(embedding_text(parent, child))
            assert embedded + OVERHEAD <= limits.child_tokens
            # Counted on the document, an upper bound but for words cut in two.
            assert embedded <= child.tokens + limits.margin_tokens


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents, limits_strategy)
def test_short_children_only_where_joining_breaks_the_limit(
    blocks: tuple[Block, ...], limits: ChunkLimits
) -> None:
    _, _, chunked = chunk(blocks, limits)
    budget = limits.child_tokens - limits.margin_tokens - OVERHEAD
    for item in chunked.chunks:
        for left, right in zip(item.children, item.children[1:], strict=False):
            if min(len(left.text), len(right.text)) < limits.child_characters:
                joined = count(item.parent.text[left.start : right.end])
                header = left.table_header
                joined += 0 if header is None else count(item.parent.text[slice(*header)])
                reserve = budget // 3 if limits.heading_prefix else 0
                assert joined + reserve > budget


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents, limits_strategy)
def test_tables_keep_their_header(blocks: tuple[Block, ...], limits: ChunkLimits) -> None:
    text, placed, chunked = chunk(blocks, limits)
    tokens = token_map(text)
    for item in chunked.chunks:
        parent = item.parent
        start = parent.source[0]
        around = [p for p in placed if p.start < start < p.end and p.block.kind is BlockKind.TABLE]
        if around:
            header = header_of(text, around[0].start, around[0].end)
            assert header is not None
            if tokens.count(*header) <= limits.parent_tokens // 2:
                assert parent.repeated_header == header
            assert start == around[0].start or text[start - 1] == "\n"  # between rows
        else:
            assert parent.repeated_header is None
        for child in item.children:
            if child.table_header is not None:
                assert header_of(parent.text, *child.table_header) == child.table_header
                assert child.table_header[1] <= child.start or child.start > child.table_header[0]
                assert parent.text[slice(*child.table_header)] in embedding_text(parent, child)


@settings(max_examples=EXAMPLES, deadline=None)
@given(documents, limits_strategy)
def test_heading_paths(blocks: tuple[Block, ...], limits: ChunkLimits) -> None:
    text, placed, chunked = chunk(blocks, limits)
    for item in chunked.chunks:
        parent = item.parent
        paths = _content_paths(placed, *parent.source)
        if paths:
            assert parent.section_path == _common(paths)
        last = [p for p in placed if p.start < parent.source[1] and p.end > parent.source[0]][-1]
        if last.block.kind is BlockKind.HEADING and parent is not chunked.chunks[-1].parent:
            # Only a "heading" that fills more than half of a parent may be parted from its content.
            tokens = token_map(text)
            first = stop = placed.index(last)
            while first and placed[first - 1].block.kind is BlockKind.HEADING:
                first -= 1
            while stop + 1 < len(placed) and placed[stop + 1].block.kind is BlockKind.HEADING:
                stop += 1
            assert tokens.count(placed[first].start, placed[stop].end) > limits.parent_tokens // 2
        # Headings that nothing stands under count for a path only where there is nothing else.
        content = [s for s in parent.segments if s.kind is not BlockKind.HEADING]
        for child in item.children:
            if any(s.start < child.end and s.end > child.start for s in content):
                assert child.section_path[: len(parent.section_path)] == parent.section_path


Path = tuple[tuple[int, str], ...]


def _content_paths(placed: tuple[PlacedBlock, ...], start: int, end: int) -> list[Path]:
    """Paths of the blocks in [start, end), by definition: the last heading before it of each lower level.

    Headings come with their place, because two sections may have the same title.
    """
    paths = []
    for index, item in enumerate(placed):
        if item.block.kind is BlockKind.HEADING or item.end <= start or item.start >= end:
            continue
        path: list[tuple[int, str]] = []
        level = 7
        for before in reversed(placed[:index]):
            if before.block.kind is BlockKind.HEADING and before.block.level < level:
                level = before.block.level
                path.insert(0, (before.start, heading_title(before.block.text)))
        paths.append(tuple(path))
    return paths


def _common(paths: list[Path]) -> tuple[str, ...]:
    shared = []
    for headings in zip(*paths, strict=False):
        if len(set(headings)) > 1:
            break
        shared.append(headings[0][1])
    return tuple(shared)
