"""HTML lists as Markdown lines; what is no list line (a table inside an item) is handed back as it is."""

from __future__ import annotations

from collections.abc import Iterator

from bs4 import Tag
from bs4.element import NavigableString

from ingest_svc.cleaning.hyphens import drop_soft_hyphens
from ingest_svc.cleaning.spaces import one_line
from ingest_svc.parsing.html_inline import LISTS, element_text, inline_text, item_labels, raw_text

# Elements that cannot be written inside a list line without losing their structure.
BLOCKS_OF_THEIR_OWN = ("table", "pre", "h1", "h2", "h3", "h4", "h5", "h6")
_PAIR = frozenset({"dt", "dd"})


def list_parts(node: Tag, depth: int = 0) -> Iterator[str | Tag]:
    """Lines of a list in order; nested lists are indented by two spaces.

    A table, preformatted text or heading inside an item comes as the element, between the lines around it.
    """
    labels = iter(item_labels(node))
    for item in node.children:
        if isinstance(item, NavigableString):
            if type(item) is NavigableString and (text := one_line(str(item))):
                yield f"{'  ' * depth}  {text}"
        elif not isinstance(item, Tag):
            continue
        elif item.name == "li":
            yield from _item_parts(item, next(labels), depth)
        elif item.name in LISTS:
            # Invalid but common: a list directly inside a list.
            yield from list_parts(item, depth + 1)
        elif text := inline_text(item):
            yield f"{'  ' * depth}  {text}"


def definition_parts(node: Tag, depth: int = 0) -> Iterator[str | Tag]:
    """ "- term: definition" per pair; several terms of one group are joined by commas."""
    terms: list[str] = []
    indent = "  " * depth
    for part in node.find_all(["dt", "dd"]):
        if part.find_parent("dl") is not node:
            continue
        if part.name == "dt":
            # Without end tags, as old pages are written, the next term is parsed into this one.
            if text := one_line(drop_soft_hyphens(raw_text(part, _PAIR))):
                terms.append(text)
            continue
        label = f"- {', '.join(terms)}:" if terms else " "
        terms = []
        yield from _item_parts(part, label, depth)
    yield from (f"{indent}- {term}" for term in terms)


def _item_parts(item: Tag, label: str, depth: int) -> Iterator[str | Tag]:
    indent = "  " * depth
    labelled = False
    for piece in _pieces(item):
        if isinstance(piece, str):
            text = one_line(drop_soft_hyphens(piece))
            if text:
                yield f"{indent}  {text}" if labelled else f"{indent}{label} {text}"
                labelled = True
            continue
        if not labelled and piece.name not in {"table", "pre"} and label.strip():
            yield f"{indent}{label}"
            labelled = True
        if piece.name in LISTS:
            yield from list_parts(piece, depth + 1)
        elif piece.name == "dl":
            yield from definition_parts(piece, depth + 1)
        else:
            labelled = True
            yield piece


def _pieces(node: Tag) -> Iterator[str | Tag]:
    """Runs of text, and the lists and other blocks between them, in order."""
    text = ""
    for child in node.children:
        if isinstance(child, NavigableString):
            text += str(child) if type(child) is NavigableString else ""
        elif not isinstance(child, Tag) or child.name in _PAIR:
            continue
        elif child.name in LISTS or child.name == "dl" or child.name in BLOCKS_OF_THEIR_OWN:
            yield text
            text = ""
            yield child
        elif child.find([*LISTS, "dl", *BLOCKS_OF_THEIR_OWN]) is not None:
            yield text
            text = ""
            yield from _pieces(child)
        else:
            text += element_text(child, text[-4:])
    yield text
