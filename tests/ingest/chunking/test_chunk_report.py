from __future__ import annotations

import pytest

from ingest_svc.chunking.chunk import chunk_document
from ingest_svc.chunking.model import ChunkedDocument, ChunkLimits, TokenStatistics
from ingest_svc.document import Block
from radref.errors import InvalidInput
from tests.ingest.chunking.chunking_documents import heading, paragraph, rendered, table, words

LIMITS = ChunkLimits(parent_tokens=100, child_tokens=60, child_characters=100, margin_tokens=4)


def chunk(*blocks: Block) -> ChunkedDocument:
    text, placed, tokens = rendered(*blocks)
    return chunk_document(text, placed, tokens, LIMITS, document_id="d", version=1, overhead=6)


def test_counts_and_statistics() -> None:
    report = chunk(heading(1, "A"), paragraph(words(90)), paragraph(words(20))).report
    assert report.parents == 2
    assert report.children == 3
    assert report.parent_tokens == TokenStatistics(112, 20, 56.0, 92)
    assert report.child_tokens.total == 112
    assert report.indivisible_rows == ()
    assert (report.divided_rows, report.unrepeated_headers, report.short_children) == (0, 0, 0)


def test_rows_that_break_a_limit_are_reported() -> None:
    chunked = chunk(table(["A", "B"], ["1", "2"], ["3", words(150)], ["4", words(60)]), paragraph("After."))
    (row,) = chunked.report.indivisible_rows
    assert row.parent == 1
    assert row.source == chunked.chunks[1].parent.source
    assert row.tokens > 150
    assert chunked.report.divided_rows == 2


def test_headers_that_are_not_repeated_are_reported() -> None:
    assert chunk(table(["A", words(60)], *[["1", words(20)]] * 8)).report.unrepeated_headers == 1
    assert chunk(table(["A", "B"], *[["1", words(20)]] * 8)).report.unrepeated_headers == 0


def test_short_children_are_reported() -> None:
    assert chunk(paragraph("... " * 80)).report.short_children > 0
    assert chunk(paragraph("Short.")).report.short_children == 0


def test_the_same_document_gets_the_same_ids() -> None:
    blocks = (heading(1, "A"), paragraph(words(90)), paragraph(words(90)))
    ids = [[item.parent.citation_id for item in chunk(*blocks).chunks] for _ in range(2)]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == len(ids[0]) == 2


def test_no_text_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        chunk(paragraph(" \n"))
    assert caught.value.reason == "NO_TEXT"
