"""The language a message to the user is written in."""

from __future__ import annotations

import re

_CYRILLIC = re.compile(r"[Ѐ-ӿ]")
_LATIN = re.compile(r"[A-Za-z]")


def is_russian(text: str) -> bool:
    """True when more Cyrillic than Latin letters stand in it."""
    return len(_CYRILLIC.findall(text)) > len(_LATIN.findall(text))
