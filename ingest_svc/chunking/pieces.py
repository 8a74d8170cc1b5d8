"""Cutting one block into pieces: between rows or items, then sentences, clauses, words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from ingest_svc.chunking.model import Boundary, Segment
from ingest_svc.chunking.ranges import Range
from ingest_svc.chunking.sentences import clause_spans, sentence_spans
from ingest_svc.chunking.tables import cells_of, header_of, table_lines
from ingest_svc.chunking.tokens import TokenMap
from ingest_svc.document import BlockKind

Splitter = Callable[[str, int, int], list[Range]]

_ITEM = re.compile(r"^[ \t]*+(?:[-*+•–—]|\(?(?:\d+(?:\.\d+)*|[^\W\d_]{1,4})[.)])[ \t]+", re.MULTILINE)

# Text cut between words comes in pieces of this share of the budget: few, and they still fill a part well.
_WORD_PIECES = 4


def rows(text: str, table: Segment, *, header_apart: bool = False) -> list[Segment]:
    """The rows of a table segment, whole.

    Header and delimiter row, if the segment holds them, are part of the first, or the first by themselves.
    """
    lines = table_lines(text, table.start, table.end)
    header = header_of(text, table.start, table.end)
    if header is not None:
        kept = [line for line in lines if line[0] >= header[1]]
        lines = [header, *kept] if header_apart or not kept else [(header[0], kept[0][1]), *kept[1:]]
    return _segments(table, lines, Boundary.ITEM)


def prose_pieces(text: str, block: Segment, tokens: TokenMap, budget: int) -> list[Segment]:
    """Any block but a table, cut to items and sentences, each of at most `budget` tokens.

    What is longer is cut at clauses, then words, then inside words at token boundaries.
    """
    levels: list[tuple[Boundary, Splitter]]
    match block.kind:
        case BlockKind.CODE:
            levels = [(Boundary.ITEM, table_lines)]
        case BlockKind.LIST:
            levels = [(Boundary.ITEM, _items), *_PROSE]
        case _:
            levels = list(_PROSE)
    # The first level always applies, so that parts can end there; the others only where it is needed.
    (boundary, splitter), *finer = levels
    pieces: list[Segment] = []
    for piece in _segments(block, splitter(text, block.start, block.end), boundary):
        pieces.extend(_fit(text, piece, tokens, budget, finer))
    return pieces


def row_pieces(text: str, row: Segment, tokens: TokenMap, budget: int) -> list[Segment]:
    """A row cut at cells, then like prose, each piece of at most `budget` tokens."""
    return list(_fit(text, row, tokens, budget, [(Boundary.CLAUSE, cells_of), *_PROSE]))


_PROSE: tuple[tuple[Boundary, Splitter], ...] = (
    (Boundary.SENTENCE, sentence_spans),
    (Boundary.CLAUSE, clause_spans),
)


def _fit(
    text: str, piece: Segment, tokens: TokenMap, budget: int, levels: list[tuple[Boundary, Splitter]]
) -> Iterator[Segment]:
    if tokens.count(piece.start, piece.end) <= budget:
        yield piece
        return
    if not levels:
        yield from _words(text, piece, tokens, budget)
        return
    (boundary, splitter), *finer = levels
    for part in _segments(piece, splitter(text, piece.start, piece.end), boundary):
        yield from _fit(text, part, tokens, budget, finer)


def _words(text: str, piece: Segment, tokens: TokenMap, budget: int) -> Iterator[Segment]:
    """Cuts at the last white space in each share of the budget, inside a word only where there is none."""
    share = max(1, budget // _WORD_PIECES)
    start, boundary = piece.start, piece.boundary
    while start < piece.end:
        stop = tokens.advance(start, share, piece.end)
        next_boundary = Boundary.WORD
        if stop < piece.end and not text[stop].isspace():
            blank = stop
            while blank > start and not text[blank - 1].isspace():
                blank -= 1
            if text[start:blank].strip():
                stop = blank
            else:
                stop, next_boundary = _before_marks(text, start, stop), Boundary.INSIDE_WORD
        end = stop
        while end > start and text[end - 1].isspace():
            end -= 1
        if end > start:
            yield replace(piece, start=start, end=end, boundary=boundary)
            boundary = next_boundary
        start = stop
        while start < piece.end and text[start].isspace():
            start += 1


def _before_marks(text: str, start: int, stop: int) -> int:
    """The cut moved before the letter whose combining marks follow it."""
    moved = stop
    while moved > start + 1 and unicodedata.combining(text[moved]):
        moved -= 1
    return moved if moved > start + 1 else stop


def _items(text: str, start: int, end: int) -> list[Range]:
    starts = [found.start() for found in _ITEM.finditer(text, start, end)]
    edges = sorted({start, *starts, end})
    spans = []
    for left, right in pairwise(edges):
        while right > left and text[right - 1].isspace():
            right -= 1
        if left < right:
            spans.append((left, right))
    return spans


def _segments(whole: Segment, spans: list[Range], boundary: Boundary) -> list[Segment]:
    """The spans as segments; the first keeps what lies before the whole."""
    return [
        replace(whole, start=start, end=end, boundary=whole.boundary if index == 0 else boundary)
        for index, (start, end) in enumerate(spans)
    ]
