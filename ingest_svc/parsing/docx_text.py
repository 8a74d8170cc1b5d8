"""Text of a docx paragraph as a reader sees it: insertions kept, deletions and hidden text dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from docx.oxml.ns import qn

from ingest_svc.cleaning.spaces import one_line
from ingest_svc.parsing.docx_styles import on
from ingest_svc.parsing.scripts import superscript

_MATH_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_ALTERNATE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_DROPPED = frozenset({qn("w:del"), qn("w:moveFrom"), qn("w:pPr"), qn("w:rPr"), _FALLBACK})
# Adobe Symbol encoding, the signs that medical and physical text uses.
_SYMBOL_FONT = {
    0x61: "α", 0x62: "β", 0x63: "χ", 0x64: "δ", 0x65: "ε", 0x67: "γ", 0x68: "η", 0x6B: "κ", 0x6C: "λ",
    0x6D: "µ", 0x6E: "ν", 0x70: "π", 0x71: "θ", 0x72: "ρ", 0x73: "σ", 0x74: "τ", 0x77: "ω", 0x44: "Δ",
    0x53: "Σ", 0x57: "Ω", 0xA3: "≤", 0xB3: "≥", 0xB0: "°", 0xB1: "±", 0xB4: "×", 0xB7: "•", 0xB9: "≠",
    0xBB: "≈", 0xAE: "→", 0xAC: "←", 0xA5: "∞", 0xD6: "√", 0x2D: "−",
}  # fmt: skip


@dataclass(slots=True)
class ParagraphText:
    """One paragraph.

    Attributes:
        text: on one line.
        bold: every visible letter is bold by direct formatting; None when no run says anything.
        notes: ids of footnotes and endnotes referred to, as ("footnote" | "endnote", id).
        boxes: `w:txbxContent` elements anchored in the paragraph.
    """

    text: str
    bold: bool | None
    notes: list[tuple[str, str]] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)


def read_paragraph(paragraph: Any) -> ParagraphText:
    """Text, weight, notes and text boxes of a `w:p` element."""
    parts: list[str] = []
    weights: list[bool | None] = []
    result = ParagraphText("", None)
    for run in _runs(paragraph, result.boxes):
        if run.tag == _MATH_TEXT:
            parts.append(run.text or "")
            continue
        properties = run.find(qn("w:rPr"))
        if properties is not None and on(properties.find(qn("w:vanish"))):
            continue
        text = _run_text(run, result.notes)
        if text.strip():
            bold = properties.find(qn("w:b")) if properties is not None else None
            weights.append(None if bold is None else on(bold))
        parts.append(superscript("".join(parts)[-1:], text) if _raised(properties) else text)
    result.text = one_line("".join(parts))
    if weights and any(weight is not None for weight in weights):
        result.bold = all(weights)
    return result


def _runs(node: Any, boxes: list[Any]) -> Iterator[Any]:
    for child in node.iterchildren():
        if child.tag in _DROPPED or not isinstance(child.tag, str):
            continue
        if child.tag == qn("w:r"):
            boxes.extend(_boxes(child))
            yield child
        elif child.tag == _MATH_TEXT:
            yield child
        elif child.tag != qn("w:p"):
            yield from _runs(child, boxes)


def _boxes(run: Any) -> Iterator[Any]:
    """Text boxes of a run; the fallback of a modern drawing repeats its text and is skipped."""
    for box in run.iter(qn("w:txbxContent")):
        ancestors = list(box.iterancestors())
        inner = ancestors[: ancestors.index(run)]
        if not any(up.tag in {_FALLBACK, qn("w:txbxContent")} for up in inner):
            yield box


def _raised(properties: Any) -> bool:
    position = properties.find(qn("w:vertAlign")) if properties is not None else None
    return position is not None and position.get(qn("w:val")) == "superscript"


def _run_text(run: Any, notes: list[tuple[str, str]]) -> str:
    parts: list[str] = []
    for child in run.iterchildren():
        if child.tag == qn("w:t"):
            parts.append(child.text or "")
        elif child.tag in {qn("w:tab"), qn("w:br"), qn("w:cr"), qn("w:ptab")}:
            parts.append(" ")
        elif child.tag == qn("w:noBreakHyphen"):
            parts.append("-")
        elif child.tag == qn("w:sym"):
            code = int(child.get(qn("w:char")) or "0", 16)
            low = code - 0xF000 if code >= 0xF000 else code
            font = (child.get(qn("w:font")) or "").lower()
            parts.append(_SYMBOL_FONT.get(low, "") if font == "symbol" else "")
        elif child.tag in {qn("w:footnoteReference"), qn("w:endnoteReference")}:
            kind = "footnote" if child.tag == qn("w:footnoteReference") else "endnote"
            identity = child.get(qn("w:id")) or ""
            notes.append((kind, identity))
            parts.append(f"[^{identity}]" if kind == "footnote" else f"[^e{identity}]")
    return "".join(parts)
