"""Headings: contents lists and repeated ones go, the document's own structure stays."""

import pytest

from ingest_svc.cleaning.clean import clean
from ingest_svc.cleaning.contents_blocks import drop_contents
from ingest_svc.cleaning.repeated_headings import drop_repeated_headings
from ingest_svc.document import Block, BlockKind, ParsedDocument


def para(text: str) -> Block:
    return Block(BlockKind.PARAGRAPH, text)


def head(text: str, level: int = 1) -> Block:
    return Block(BlockKind.HEADING, f"{'#' * level} {text}", level)


LAW = (head("Title 42", 1), head("Chapter 6A", 3), head("§ 263b", 4))


def test_the_place_in_a_law_is_said_once() -> None:
    parts = [(head(f"({letter}) Part", 5), para(f"Text {letter}.")) for letter in "abcd"]
    repeated = tuple(block for part in parts for block in (*LAW, *part))
    assert clean(ParsedDocument(repeated)).blocks == (*LAW, *(block for part in parts for block in part))


@pytest.mark.parametrize(
    "blocks",
    [
        # The same name for two sections.
        (head("CT"), head("Dose", 2), para("a"), head("Dose", 2), para("b")),
        (head("CT"), head("Dose", 2), para("a"), head("MR"), head("Dose", 2), para("b")),
        # Text that would move under the last subsection.
        (head("CT"), head("Dose", 2), para("a"), head("CT"), para("b")),
        (head("CT"), head("Dose", 2), para("a"), head("CT"), head("Deeper", 3), para("b")),
    ],
)
def test_headings_that_open_something_stay(blocks: tuple[Block, ...]) -> None:
    assert drop_repeated_headings(blocks) == blocks


def test_a_chain_of_headings_is_no_contents_list() -> None:
    chain = (*LAW, head("(a) Definitions", 5))
    blocks = (*chain, para("x."), *chain, para("y."))
    assert drop_contents(blocks) == blocks


def test_an_enumeration_whose_items_are_sections_later_is_no_contents_list() -> None:
    rooms = ["процедурный кабинет", "малая операционная", "помещение для забора крови", "комната хранения"]
    listed = (para("Структура отделения:"), *[para(f"{room};") for room in rooms])
    sections = tuple(
        block for room in rooms for block in (head(room.capitalize(), 2), para("Оснащение: стол."))
    )
    assert drop_contents((*listed, *sections)) == (*listed, *sections)


@pytest.mark.parametrize(
    "text",
    [
        "1. Remove metal objects\n2. Lie on the table\n3. Hold your breath for 20",
        "Chest 5\nHead 2\nAbdomen 8",
        "Shielding of 2 mm\nShielding of 4 mm\nShielding of 8 mm",
    ],
)
def test_lists_that_end_in_numbers_are_no_contents_lists(text: str) -> None:
    listed = (head("Steps"), Block(BlockKind.LIST, text), para(text.replace("\n", " ")))
    assert drop_contents(listed) == listed
