"""Text and list labels of DrawingML paragraphs."""

from __future__ import annotations

from typing import Any

from pptx.oxml.ns import qn

from ingest_svc.cleaning.spaces import one_line
from ingest_svc.parsing.docx_numbering import format_number
from ingest_svc.parsing.scripts import superscript

_MATH_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
# Number formats of ST_TextAutonumberScheme (ECMA-376 part 1, 20.1.10.61) by their beginning and end.
_SCHEMES = {
    "arabic": "decimal",
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
}
_ENDS = {"Period": "{}.", "ParenBoth": "({})", "ParenR": "{})", "Plain": "{}"}


def paragraph_text(element: Any) -> str:
    """Text of an `a:p` element on one line; superscripts as "10^6"."""
    parts: list[str] = []
    for child in element.iter(qn("a:r"), qn("a:fld"), qn("a:br"), _MATH_TEXT):
        if child.tag == qn("a:br"):
            parts.append(" ")
        elif child.tag == _MATH_TEXT:
            parts.append(child.text or "")
        else:
            text = "".join(part.text or "" for part in child.iterchildren(qn("a:t")))
            properties = child.find(qn("a:rPr"))
            raised = properties is not None and int(properties.get("baseline") or 0) > 0
            parts.append(superscript("".join(parts)[-1:], text) if raised else text)
    return one_line("".join(parts).replace("\v", " "))


class Numbers:
    """Counts the automatically numbered paragraphs of one text frame in order."""

    def __init__(self) -> None:
        self._next: dict[int, tuple[str, int]] = {}

    def label(self, element: Any, level: int, default: str) -> str:
        """The label of an `a:p` element: "-", "2.", "b)" or "" for none.

        Args:
            element: the paragraph; an `a:buFont` or indent alone says nothing.
            level: its list level from 0.
            default: what it has when it says nothing.
        """
        properties = element.find(qn("a:pPr"))
        for deeper in [place for place in self._next if place > level]:
            del self._next[deeper]
        numbered = properties.find(qn("a:buAutoNum")) if properties is not None else None
        if numbered is None:
            self._next.pop(level, None)
            if properties is None:
                return default
            if properties.find(qn("a:buNone")) is not None:
                return ""
            marked = (
                properties.find(qn("a:buChar")) is not None or properties.find(qn("a:buBlip")) is not None
            )
            return "-" if marked else default
        scheme = numbered.get("type") or "arabicPeriod"
        kind, following = self._next.get(level, (scheme, int(numbered.get("startAt") or 1)))
        if kind != scheme:
            following = int(numbered.get("startAt") or 1)
        self._next[level] = (scheme, following + 1)
        shown = next((name for start, name in _SCHEMES.items() if scheme.startswith(start)), "decimal")
        pattern = next((text for end, text in _ENDS.items() if scheme.endswith(end)), "{}.")
        return pattern.format(format_number(following, shown))
