"""Levels of Docling headings."""

from __future__ import annotations

from docling_core.types.doc.common.content_layer import ContentLayer
from docling_core.types.doc.document import DoclingDocument
from docling_core.types.doc.items.text import SectionHeaderItem, TitleItem

from ingest_svc.cleaning.spaces import one_line
from ingest_svc.parsing.heading_marks import UNNUMBERED, HeadingLevels, HeadingMark, heading_mark

_UNNUMBERED = HeadingMark(UNNUMBERED, 0, "", strong=False)


class DoclingHeadings:
    """Levels for the headings of one document, asked for in reading order.

    A title is level 1. Section headers keep the depth that Docling gives them, below the title where there
    is one. Where it gives all of them the same (its layout model knows no levels), their numbering decides:
    "2.1" is a part of "2", "Статья 5" of "Глава 1"; an unnumbered one belongs to the numbered one above it.

    Args:
        document: the document whose headings are asked for.
    """

    def __init__(self, document: DoclingDocument) -> None:
        body = [item for item in document.texts if item.content_layer is ContentLayer.BODY]
        headers = [item for item in body if isinstance(item, SectionHeaderItem)]
        self._base = 2 if any(isinstance(item, TitleItem) and item.text.strip() for item in body) else 1
        self._least = min((item.level for item in headers), default=1)
        flat = len({item.level for item in headers}) == 1
        self._by_number = flat and any(heading_mark(one_line(item.text)) for item in headers)
        self._numbered = HeadingLevels(self._base)

    def title(self) -> int:
        """Level of a title; the numbering begins anew below it."""
        self._numbered = HeadingLevels(self._base)
        return 1

    def section(self, item: SectionHeaderItem, text: str) -> int:
        """Level 1-6 of a section header.

        Args:
            item: the header.
            text: its text on one line.
        """
        if self._by_number:
            return self._numbered.level(heading_mark(text) or _UNNUMBERED)
        return max(1, min(6, self._base + item.level - self._least))


def named_title(document: DoclingDocument) -> str:
    """The title: the first the document names, else its first heading where that carries no number."""
    for item in document.texts:
        if isinstance(item, TitleItem) and (text := one_line(item.text)):
            return text
    for item in document.texts:
        if isinstance(item, SectionHeaderItem) and item.content_layer is ContentLayer.BODY:
            text = one_line(item.text)
            return "" if heading_mark(text) else text
    return ""
