from __future__ import annotations

from dataclasses import replace

import pytest

from ingest_svc.chunking.children import embedding_text, split_children
from ingest_svc.chunking.model import Child, ChunkLimits, Parent
from ingest_svc.chunking.parents import split_parents
from ingest_svc.document import Block
from radref.errors import InvalidInput
from tests.ingest.chunking.chunking_documents import (
    bullets,
    heading,
    offsets_of,
    paragraph,
    rendered,
    table,
    words,
)

LIMITS = ChunkLimits(parent_tokens=1000, child_tokens=60, child_characters=100, margin_tokens=4)
OVERHEAD = 6  # leaves 50 tokens


def children_of(
    *blocks: Block, limits: ChunkLimits = LIMITS, title: str = "", title_tokens: int = 0
) -> tuple[Parent, list[Child]]:
    text, placed, tokens = rendered(*blocks)
    (parent,) = split_parents(text, placed, tokens, limits, document_id="d", version=1)
    children = split_children(parent, tokens, limits, OVERHEAD, title, title_tokens)
    for child in children:
        assert child.text == parent.text[child.start : child.end]
        assert len(offsets_of(embedding_text(parent, child))) <= 54
    return parent, children


def test_a_short_parent_is_its_own_child() -> None:
    parent, (child,) = children_of(heading(1, "A"), paragraph("Short."))
    assert child == Child(0, 0, len(parent.text), ("A",), parent.text, None, "", 5)


def test_children_end_between_blocks_then_sentences() -> None:
    sentence = "Word " + words(10) + "."
    _, children = children_of(paragraph(" ".join([sentence] * 4)), paragraph(" ".join([sentence] * 6)))
    assert all(child.text.endswith("word.") and len(child.text) >= 100 for child in children)
    assert children[-3].end < children[-2].start
    assert [child.ordinal for child in children] == list(range(len(children)))


def test_the_token_limit_wins_over_the_shortest_length() -> None:
    # Three marks of one token each per four characters.
    _, children = children_of(paragraph("... " * 80))
    assert all(len(child.text) < 100 for child in children)


def test_children_of_packed_sections_know_their_own_section() -> None:
    long = words(24)
    parent, children = children_of(
        heading(1, "T"), heading(2, "A"), paragraph(long), heading(2, "B"), paragraph(long), paragraph(long)
    )
    assert parent.section_path == ("T",)
    assert [child.section_path for child in children] == [("T", "A"), ("T", "B"), ("T", "B")]
    assert children[1].text.startswith("## B\n\nword")


def test_a_child_over_two_sections_has_their_common_path() -> None:
    _, (child,) = children_of(
        heading(1, "T"), heading(2, "A"), paragraph("x"), heading(2, "B"), paragraph("y")
    )
    assert child.section_path == ("T",)


def test_rows_stay_whole_and_are_embedded_with_their_header() -> None:
    rows = [[f"Organ {n}", words(8)] for n in range(9)]
    parent, children = children_of(paragraph("Intro."), table(["Organ", "Dose"], *rows))
    header = "| Organ | Dose |\n| --- | --- |"
    assert len(children) > 2
    assert children[0].table_header is None
    for child in children[1:]:
        assert child.text.startswith("| Organ ")
        assert child.text.endswith("|")
        assert embedding_text(parent, child) == f"{header}\n{child.text}"


def test_the_header_repeated_in_a_parent_is_repeated_for_its_later_children() -> None:
    rows = [[f"Organ {n}", words(8)] for n in range(20)]
    limits = replace(LIMITS, parent_tokens=160)
    text, placed, tokens = rendered(table(["Organ", "Dose"], *rows))
    parent = split_parents(text, placed, tokens, limits, document_id="d", version=1)[1]
    first, *others = split_children(parent, tokens, limits, OVERHEAD)
    assert first.table_header is None
    assert first.text.startswith("| Organ | Dose |\n")
    assert others
    assert {child.table_header for child in others} == {(0, len("| Organ | Dose |\n| --- | --- |"))}


def test_a_row_longer_than_a_child_is_searched_in_pieces() -> None:
    cells = ["Name", " ".join(["Word " + words(8) + "."] * 12)]
    parent, children = children_of(table(["A", "B"], cells, ["x", "y"]))
    assert len(children) > 2
    assert all(child.text.endswith((".", "|", "Name")) for child in children)
    assert embedding_text(parent, children[1]).startswith("| A | B |\n| --- | --- |\nWord")


def test_a_long_header_is_not_embedded_with_every_child() -> None:
    parent, children = children_of(table(["A", words(40)], *[[str(n), words(20)] for n in range(4)]))
    assert [child.table_header for child in children] == [None] * len(children)
    assert parent.text.startswith(children[0].text)


def test_list_items_stay_whole() -> None:
    _, children = children_of(bullets(*[words(9)] * 12))
    assert all(child.text.startswith("- ") for child in children)


def test_heading_prefix_has_title_and_path_and_fits() -> None:
    limits = replace(LIMITS, heading_prefix=True)
    blocks = (heading(1, "T"), heading(2, "A b"), paragraph(" ".join(["Word " + words(10) + "."] * 8)))
    parent, children = children_of(*blocks, limits=limits, title="Rules", title_tokens=2)
    assert len(children) > 2
    assert {child.prefix for child in children} == {"Rules > T > A b"}
    assert embedding_text(parent, children[1]) == f"Rules > T > A b\n{children[1].text}"


def test_a_long_heading_prefix_loses_its_outermost_parts() -> None:
    limits = replace(LIMITS, heading_prefix=True)
    blocks = (
        heading(1, words(12)),
        heading(2, "Inner"),
        paragraph(" ".join(["Word " + words(10) + "."] * 8)),
    )
    _, children = children_of(*blocks, limits=limits, title="Rules", title_tokens=2)
    assert {child.prefix for child in children} == {"Inner"}


def test_the_title_is_not_repeated_where_it_is_the_first_heading() -> None:
    limits = replace(LIMITS, heading_prefix=True)
    _, (child,) = children_of(
        heading(1, "Rules"), paragraph("x"), limits=limits, title="Rules", title_tokens=2
    )
    assert child.prefix == "Rules"


@pytest.mark.parametrize("overhead", [-1, 30, 500])
def test_no_room_for_text_is_refused(overhead: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        LIMITS.child_budget(overhead)
    assert caught.value.reason == "OUT_OF_RANGE"


@pytest.mark.parametrize(
    "values", [{"parent_tokens": 31}, {"child_tokens": 0}, {"child_characters": 0}, {"margin_tokens": -1}]
)
def test_limits_are_checked(values: dict[str, int]) -> None:
    with pytest.raises(InvalidInput) as caught:
        ChunkLimits(**values)
    assert caught.value.reason == "OUT_OF_RANGE"
    assert caught.value.field in values
