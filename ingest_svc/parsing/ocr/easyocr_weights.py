"""EasyOCR's names for languages and for the files of its weights (release 1.7); known without loading it."""

from __future__ import annotations

from collections.abc import Sequence

# ISO 639-2 as in the settings to EasyOCR's own codes.
_CODES = {
    "eng": "en", "rus": "ru", "ukr": "uk", "bel": "be", "bul": "bg", "deu": "de", "fra": "fr", "spa": "es",
    "ita": "it", "pol": "pl", "ces": "cs",
}  # fmt: skip
_CYRILLIC = frozenset({"ru", "uk", "be", "bg"})
# The detector, and the second-generation recognisers by script.
_DETECTOR = "craft_mlt_25k.pth"
_CYRILLIC_WEIGHTS = "cyrillic_g2.pth"
_ENGLISH_WEIGHTS = "english_g2.pth"
_LATIN_WEIGHTS = "latin_g2.pth"


def unknown_languages(languages: Sequence[str]) -> list[str]:
    """Those of the languages (ISO 639-2) that EasyOCR is not set up for."""
    return [language for language in languages if language not in _CODES]


def codes(languages: Sequence[str]) -> list[str]:
    """EasyOCR's names of the languages; none of them may be unknown."""
    return [_CODES[language] for language in languages]


def files(languages: Sequence[str]) -> tuple[str, str]:
    """Names of the weights that EasyOCR needs for the languages: detector, recogniser."""
    wanted = set(codes(languages))
    if wanted & _CYRILLIC:
        return _DETECTOR, _CYRILLIC_WEIGHTS
    return _DETECTOR, _ENGLISH_WEIGHTS if wanted == {"en"} else _LATIN_WEIGHTS
