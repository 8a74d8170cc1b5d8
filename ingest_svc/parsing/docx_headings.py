"""Headings of a docx: by style, else by how acts set them (centred, bold, "Статья 13. ...")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ingest_svc.document import Block
from ingest_svc.parsing.blocks import heading, paragraph
from ingest_svc.parsing.docx_numbering import ListLabel
from ingest_svc.parsing.heading_marks import UNNUMBERED, HeadingLevels, HeadingMark, heading_mark

# A longer "heading" is a paragraph in a heading style.
_MAX_HEADING = 400
_MAX_SOFT_HEADING = 300
_TITLE = HeadingMark("title", 0, "", strong=False)
_SUBTITLE = HeadingMark(UNNUMBERED, 0, "", strong=False)


@dataclass(frozen=True, slots=True)
class DocxParagraph:
    """A paragraph before it is known whether it is a heading.

    Attributes:
        text: on one line, without an automatic number.
        outline: level 1-9 by style, 0 = none.
        bold: all of it is bold.
        alignment: w:jc value, "" = default.
        label: automatic number.
    """

    text: str
    outline: int
    bold: bool
    alignment: str
    label: ListLabel | None = None

    def labelled(self) -> str:
        """The text with its automatic number."""
        return f"{self.label.text} {self.text}" if self.label is not None and self.label.text else self.text


class DocxHeadings:
    """Decides for a whole document, in order."""

    def resolved(self, elements: Iterable[Block | DocxParagraph]) -> list[Block]:
        """Blocks with headings found; lines of a centred title are joined."""
        items = list(elements)
        levels = HeadingLevels()
        blocks: list[Block] = []
        at = 0
        while at < len(items):
            item = items[at]
            at += 1
            if isinstance(item, Block):
                blocks.append(item)
            elif 0 < item.outline <= 9 and len(item.text) <= _MAX_HEADING:
                text, at = _joined(item, items, at) if item.alignment == "center" else (item.labelled(), at)
                blocks.append(heading(text, item.outline))
                # Headings by look belong under the last one by style.
                levels = HeadingLevels(base=min(6, item.outline + 1))
            elif mark := _soft_mark(item):
                text, at = _joined(item, items, at) if item.alignment == "center" else (item.labelled(), at)
                blocks.append(heading(text, levels.level(mark)))
            else:
                blocks.append(paragraph(item.labelled()))
        return blocks


def _soft_mark(item: DocxParagraph) -> HeadingMark | None:
    text = item.labelled()
    if len(text) > _MAX_SOFT_HEADING or not any(char.isalpha() for char in text) or text[-1] in ";,:":
        return None
    if "=" in text:
        # A centred formula.
        return None
    mark = heading_mark(text)
    centred = item.alignment == "center"
    if mark is not None:
        if mark.strong and not mark.style.startswith("decimal"):
            # "Статья 13. ..." may be set like body text; a reference inside prose does not stand alone.
            sure = item.bold or centred or item.alignment == "right"
            return mark if sure or (len(text) <= 200 and not text.endswith((".", "!"))) else None
        return mark if centred or (item.bold and not text.endswith(".")) else None
    if centred and (item.bold or text.isupper()) and not text.endswith("."):
        return _TITLE if text.isupper() else _SUBTITLE
    return _SUBTITLE if item.bold and not text.endswith(".") and len(text) <= 150 else None


def _joined(item: DocxParagraph, items: list[Block | DocxParagraph], at: int) -> tuple[str, int]:
    """Acts break a centred title into several paragraphs by hand; those without a number go on."""
    text = item.labelled()
    first = item
    while at < len(items):
        following = items[at]
        if not isinstance(following, DocxParagraph) or following.alignment != "center":
            break
        if (
            following.label is not None
            or following.bold != first.bold
            or heading_mark(following.text) is not None
        ):
            break
        if following.outline not in {0, first.outline} or len(text) + len(following.text) > _MAX_HEADING:
            break
        if (
            first.outline
            and following.outline == first.outline
            and following.text[:1].isupper()
            and not following.text.isupper()
        ):
            break
        text = f"{text} {following.text}"
        at += 1
    return text, at
