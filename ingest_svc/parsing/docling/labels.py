"""Labels of list items."""

from __future__ import annotations

import re

from docling_core.types.doc.items.text import ListItem

_BARE = re.compile(r"^(?:\d{1,4}|[A-Za-zА-Яа-я]|[ivxlcIVXLC]{1,6})$")
_BULLET = re.compile(r"^[•●▪■◦·‣\uf0b7\uf0a7]\s+")


def item_label(item: ListItem, number: int) -> str:
    """ "-" for a bullet, else the item's own number or letter ("3.", "b)", "(iv)").

    Args:
        item: the item.
        number: its place among the numbered items of its list, from 1; used where it names no number itself.
    """
    marker = item.marker.strip()
    if any(char.isalnum() for char in marker) and marker != "o":
        return f"{marker}." if _BARE.match(marker) else marker
    return f"{number}." if item.enumerated else "-"


def without_label(text: str, label: str) -> str:
    """The text without a bullet or the label that the converter left at its start."""
    if label != "-" and text.startswith(f"{label} "):
        return text[len(label) + 1 :].lstrip()
    return _BULLET.sub("", text)
