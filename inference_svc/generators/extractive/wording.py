"""Sentences that say what was not found, in the language of the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from inference_svc.generators.extractive.lexical import is_cyrillic

_KINDS: Final = {
    "time": ("a period or an age", "срок или возраст"),
    "length": ("a length or a size", "длина или размер"),
    "area": ("an area", "площадь"),
    "volume": ("a volume", "объём"),
    "mass": ("a mass", "масса"),
    "dose": ("a dose", "доза"),
    "activity": ("an activity", "активность"),
    "field": ("a field strength", "напряжённость или индукция поля"),
    "money": ("an amount of money", "денежная сумма"),
    "percent": ("a percentage", "процент"),
    "temperature": ("a temperature", "температура"),
    "sound": ("a sound level", "уровень звука"),
    "density": ("a density in HU", "плотность в HU"),
    "luminance": ("a luminance", "яркость"),
    "concentration": ("a concentration", "концентрация"),
    "pressure": ("a pressure", "давление"),
    "frequency": ("a frequency", "частота"),
    "voltage": ("a voltage", "напряжение"),
    "number": ("a number", "число"),
    "when": ("a time or an occasion", "время или условие"),
}


def not_found(query: str, unmet: Sequence[frozenset[str]]) -> str:
    """For people: the passages do not hold the answer, and which kind of it was looked for."""
    if is_cyrillic(query):
        wanted = f" (искали: {_list(unmet, 1, ' или ')})" if unmet else ""
        return (
            f"В найденных фрагментах нет ответа на этот вопрос{wanted}. "
            "Уточните предмет, условие или документ."
        )
    wanted = f" (looked for: {_list(unmet, 0, ' or ')})" if unmet else ""
    return f"The passages found do not answer this question{wanted}. Name the subject, condition or document."


def partly_found(query: str, unmet: Sequence[frozenset[str]]) -> str:
    """For people: which of the things asked for is not in the quotations."""
    if is_cyrillic(query):
        return f"В приведённых цитатах не найдено: {_list(unmet, 1, ' или ')}."
    return f"Not found in the passages quoted: {_list(unmet, 0, ' or ')}."


def _list(unmet: Sequence[frozenset[str]], language: int, joint: str) -> str:
    return "; ".join(joint.join(_KINDS[name][language] for name in sorted(kind)) for kind in unmet)
