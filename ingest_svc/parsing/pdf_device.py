"""Reads the content of a PDF page by pdfminer, with what pdfplumber's own layout leaves out: render modes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pdfminer.converter import PDFPageAggregator
from pdfminer.layout import LTChar, LTContainer, LTCurve, LTImage
from pdfminer.pdffont import PDFType3Font
from pdfminer.pdfinterp import PDFPageInterpreter

# Text rendering modes that paint nothing (ISO 32000-1, table 106): 3 invisible, 7 only clips.
_UNSEEN_MODES = frozenset({3, 7})
# Codes that WinAnsiEncoding leaves open show a bullet (ISO 32000-1, annex D.2, note 3); pdfminer knows none.
_WIN_ANSI_BULLETS = frozenset(f"(cid:{code})" for code in (0x7F, 0x81, 0x8D, 0x8F, 0x90, 0x9D))
# Place of the character code among what pdfminer passes to render_char after the font.
_CODE = 3
_FONT_FILES = ("FontFile", "FontFile2", "FontFile3")
# Font descriptor flags (ISO 32000-1, table 123).
_SYMBOLIC, _NONSYMBOLIC = 1 << 2, 1 << 5


@dataclass(slots=True)
class RawPage:
    """Objects of one page as pdfminer gives them: points from the lower left, /Rotate applied.

    Attributes:
        glyphs: characters painted; `unseen` those that are set in an invisible mode.
        guessed: ids of characters whose font does not say which letters its glyphs are.
        loose: names of fonts that the file does not bring along, so that drawing them may fail.
        curves: strokes and fills.
        images: raster images.
    """

    width: float
    height: float
    glyphs: list[LTChar]
    unseen: list[LTChar]
    curves: list[LTCurve]
    images: list[LTImage]
    guessed: set[int]
    loose: set[str | bytes]


class GlyphDevice(PDFPageAggregator):
    """pdfminer's page device that remembers which characters are set in an invisible mode."""

    def __init__(self, resources: Any, number: int) -> None:
        super().__init__(resources, pageno=number, laparams=None)
        self.unseen_ids: set[int] = set()
        self.guessed_ids: set[int] = set()
        self.loose_fonts: set[str | bytes] = set()
        self._mode = 0

    def render_string(self, textstate: Any, seq: Any, ncs: Any, graphicstate: Any) -> None:
        """Hook: the render mode holds for all characters of the string."""
        self._mode = textstate.render
        super().render_string(textstate, seq, ncs, graphicstate)

    def render_char(self, matrix: Any, font: Any, *args: Any) -> float:
        """Hook: notes invisible characters and those without a mapping to Unicode."""
        advance: float = super().render_char(matrix, font, *args)
        if self.cur_item._objs:
            item: Any = self.cur_item._objs[-1]
            last = id(item)
            if item._text in _WIN_ANSI_BULLETS and hasattr(font, "cid2unicode"):
                item._text = "•"
            elif _is_control(item._text):
                item._text = _named(font, args[_CODE], item._text)
            if not _is_embedded(font):
                self.loose_fonts.add(font.fontname)
            if self._mode in _UNSEEN_MODES:
                self.unseen_ids.add(last)
            if _is_guessed(font):
                self.guessed_ids.add(last)
        return advance


def _is_control(text: str) -> bool:
    """What some programs write into ToUnicode for glyphs that Unicode has no single letter for ("ffi")."""
    return (
        len(text) == 1 and (text < " " or "\x7f" <= text < "\xa0" or text == "\ufffd") and not text.isspace()
    )


def _named(font: Any, code: int, text: str) -> str:
    """Text by the name that the font's encoding gives the glyph; `text` where it gives none."""
    named: str = getattr(font, "cid2unicode", {}).get(code, text)
    return text if _is_control(named) else named


def _is_embedded(font: Any) -> bool:
    return isinstance(font, PDFType3Font) or any(key in font.descriptor for key in _FONT_FILES)


def _is_guessed(font: Any) -> bool:
    """A Type 3 font or TrueType subset with codes of its own, no ToUnicode; pdfminer takes codes for letters.

    Some programs number the glyphs of a subset as they come, so the text is nonsense; others keep the codes
    of the letters. Which it is shows in the text.
    """
    if getattr(font, "unicode_map", font) is not None:
        return False
    symbolic = bool(font.flags & _SYMBOLIC) and not font.flags & _NONSYMBOLIC
    return isinstance(font, PDFType3Font) or (symbolic and "FontFile2" in font.descriptor)


def read_raw(page: Any) -> RawPage:
    """Content of a pdfplumber page; pdfminer's errors pass through."""
    device = GlyphDevice(page.pdf.rsrcmgr, page.page_number)
    PDFPageInterpreter(page.pdf.rsrcmgr, device).process_page(page.page_obj)
    layout = device.get_result()
    raw = RawPage(
        float(layout.width), float(layout.height), [], [], [], [], device.guessed_ids, device.loose_fonts
    )
    for item in _leaves(layout):
        if isinstance(item, LTChar):
            (raw.unseen if id(item) in device.unseen_ids else raw.glyphs).append(item)
        elif isinstance(item, LTCurve):
            raw.curves.append(item)
        elif isinstance(item, LTImage):
            raw.images.append(item)
    return raw


def _leaves(container: Iterable[Any]) -> Iterator[Any]:
    for item in container:
        if isinstance(item, LTContainer):
            yield from _leaves(item)
        else:
            yield item
