"""What a quantity is called: a text that gives another one of the same dimension is no answer."""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = {
    "thickness": r"thick\w*|толщин\w*",
    "diameter": r"diamet\w*|calib\w*|wide|width|bore|диаметр\w*|ширин\w*|калибр\w*",
    "weight": r"weigh\w*|mass|вес\b|веса|весит|масс\w*",
    "half-life": r"half-?li\w*|полураспад\w*|полувыведен\w*",
    "volume": r"volum\w*|capacit\w*|объ[её]м\w*|[её]мкост\w*",
    "area": r"area|площад\w*",
    "distance": r"distanc\w*|away|apart|far|расстояни\w*|удалени\w*",
    "luminance": r"luminan\w*|brightness|яркост\w*",
    "temperature": r"temperatur\w*|heating|температур\w*",
    "frequency of doing": r"how often|как часто|периодичност\w*",
}


def attributes_of(question: str) -> tuple[str, ...]:
    """Names of the quantities that a question speaks of."""
    return tuple(
        name for name, pattern in _NAMES.items() if re.search(rf"\b(?:{pattern})", question, re.IGNORECASE)
    )


def names_attribute(text: str, attribute: str) -> bool:
    """Whether the text speaks of the quantity ("thickness"), whatever it is called in English or Russian."""
    if attribute == "frequency of doing":
        return True
    return bool(re.search(rf"\b(?:{_NAMES[attribute]})", text, re.IGNORECASE))
