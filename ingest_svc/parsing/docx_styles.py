"""Paragraph properties of a docx, resolved through the style chain."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from docx.oxml.ns import qn

# Word writes its built-in style names in English; LibreOffice, Google Docs and old .doc files
# localise them. Most have an outline level as well; the names are for those that do not.
_HEADING_WORDS = (
    "heading|header|заголовок|überschrift|titre|título|titulo|titolo|kop|rubrik|overskrift|otsikko|nagłówek|nadpis|"
    "címsor|antraštė|virsraksts|pealkiri|επικεφαλίδα|başlık|naslov|titlu|загалоўка|загаловак|заглавие|標題|标题|見出し|제목"
)
_HEADING_NAME = re.compile(rf"^(?:{_HEADING_WORDS})\s*([1-9])$", re.I)
_TITLE_NAME = re.compile(
    r"^(?:title|heading|название|заголовок|titel|titre|título|titolo|tytuł|τίτλος)$", re.I
)
_OFF = frozenset({"0", "false", "off", "none"})


@dataclass(frozen=True, slots=True)
class Style:
    """What a paragraph style says, None where neither it nor its bases say anything.

    Attributes:
        outline: heading level 1-9 by outline level or by the style's name; 0 = body text.
        bold: all text bold.
        alignment: "center", "right", "both", ...
        num_id, ilvl: automatic numbering.
    """

    outline: int | None = None
    bold: bool | None = None
    alignment: str | None = None
    num_id: str | None = None
    ilvl: int | None = None


def on(element: Any) -> bool:
    """Value of an on/off property element: present without `w:val` means on."""
    return element is not None and (element.get(qn("w:val")) or "1").lower() not in _OFF


class Styles:
    """Paragraph styles of a document by id.

    Args:
        root: the `w:styles` element, or None when the document has none.
    """

    def __init__(self, root: Any) -> None:
        self._elements: dict[str, Any] = {}
        self._default = ""
        self._resolved: dict[str, Style] = {}
        for element in root.iterchildren(qn("w:style")) if root is not None else ():
            if element.get(qn("w:type")) != "paragraph":
                continue
            style_id = element.get(qn("w:styleId")) or ""
            self._elements[style_id] = element
            if (element.get(qn("w:default")) or "0").lower() not in _OFF:
                self._default = style_id

    def of(self, paragraph: Any) -> Style:
        """The effective properties of a `w:p` element, direct formatting included."""
        properties = paragraph.find(qn("w:pPr"))
        named = properties.find(qn("w:pStyle")) if properties is not None else None
        base = self._resolve(named.get(qn("w:val")) if named is not None else self._default, 0)
        return _merged(_own(properties, None), base)

    def _resolve(self, style_id: str | None, depth: int) -> Style:
        # Real chains are a few styles deep; a longer one is a loop.
        if not style_id or style_id not in self._elements or depth > 20:
            return Style()
        if style_id not in self._resolved:
            element = self._elements[style_id]
            parent = element.find(qn("w:basedOn"))
            base = self._resolve(parent.get(qn("w:val")) if parent is not None else None, depth + 1)
            own = _own(element.find(qn("w:pPr")), element.find(qn("w:rPr")))
            self._resolved[style_id] = _merged(_named(element, own), base)
        return self._resolved[style_id]


def _named(element: Any, own: Style) -> Style:
    name_element = element.find(qn("w:name"))
    name = (name_element.get(qn("w:val")) or "").strip() if name_element is not None else ""
    match = _HEADING_NAME.match(name)
    level = int(match.group(1)) if match else 1 if _TITLE_NAME.match(name) else own.outline
    return Style(level, own.bold, own.alignment, own.num_id, own.ilvl)


def _own(properties: Any, run_properties: Any) -> Style:
    outline: int | None = None
    alignment: str | None = None
    num_id: str | None = None
    ilvl: int | None = None
    if properties is not None:
        level = properties.find(qn("w:outlineLvl"))
        if level is not None and (level.get(qn("w:val")) or "").isdigit():
            value = int(level.get(qn("w:val")))
            outline = value + 1 if value < 9 else 0
        jc = properties.find(qn("w:jc"))
        alignment = jc.get(qn("w:val")) if jc is not None else None
        numbering = properties.find(qn("w:numPr"))
        if numbering is not None:
            identity, depth = numbering.find(qn("w:numId")), numbering.find(qn("w:ilvl"))
            num_id = identity.get(qn("w:val")) if identity is not None else None
            ilvl = int(depth.get(qn("w:val"))) if depth is not None else None
    bold = None
    if run_properties is not None and run_properties.find(qn("w:b")) is not None:
        bold = on(run_properties.find(qn("w:b")))
    return Style(outline, bold, alignment, num_id, ilvl)


def _merged(own: Style, base: Style) -> Style:
    return Style(
        own.outline if own.outline is not None else base.outline,
        own.bold if own.bold is not None else base.bold,
        own.alignment if own.alignment is not None else base.alignment,
        own.num_id if own.num_id is not None else base.num_id,
        own.ilvl if own.ilvl is not None else base.ilvl,
    )
