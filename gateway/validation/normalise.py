"""Typographic normalisation with a way back: two texts that a reader calls the same become equal.

Folded: white space of every kind, NFC/NFKC forms (ligatures, full width, superscripts), quotation marks,
dashes and the spaces around them, case, ё and е, soft hyphens and zero-width characters, and Markdown's signs
(emphasis, pipes, table rulers, heading, bullet and quotation marks, link targets, <br>/<sup>/<sub>). Folding
superscripts and case is safe here because the quotation shown is always the passage's own text, never the
folded one; the number check reads that own text, too.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

_QUOTES: Final = dict.fromkeys('“”„‟«»‹›"″〝〞＂', '"') | dict.fromkeys("‘’‚‛'′`´ʼ＇", "'")
_DASHES: Final = frozenset("-‐‑‒–—―−﹘﹣－⁃")
_FOLDED: Final = _QUOTES | dict.fromkeys(_DASHES, "-") | {"ё": "е", "Ё": "е", "µ": "μ"}

_TO_SPACE: Final = re.compile(
    r"""
      (?P<ruler>^[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?[ \t]*$)   # | --- | --- |
    | (?P<fence>^[ \t]*`{3,}.*$)
    | (?P<mark>^[ \t]*(?:>[ \t]*)*(?:\#{1,6}[ \t]+|[-*+•‣▪◦][ \t]+|>[ \t]*))  # heading, bullet
    | (?P<pipe>(?<!\\)\|)
    | (?P<br><br[ \t]*/?>)
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_TO_NOTHING: Final = re.compile(
    r"""
      (?P<tag></?(?:su[bp]|b|i|em|strong)>)
    | (?P<escape>\\(?=[!-/:-@\[-`{-~]))
    | (?P<emphasis>\*+|(?<!\w)_+(?=\w)|(?<=[\w.,;:!?)])_+(?!\w)|~~)
    | (?P<target>(?<=\])\((?:https?:|mailto:|/|\#|\.)[^()\s]*(?:[ ]"[^"]*")?\))
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NormalisedText:
    """`text` is the folded text; character i of it comes from source code points [starts[i], ends[i]).

    Both lists never decrease. Folded text neither begins nor ends with a space and holds no two in a row.
    """

    source: str
    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """The source range [start, end) of the folded range [start, end), which must not be empty."""
        return self.starts[start], self.ends[end - 1]


def normalise(source: str) -> NormalisedText:
    """Folds a text; linear in its length."""
    signs = _signs(source)
    characters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    pending: tuple[int, int] | None = None
    index, length = 0, len(source)
    while index < length:
        sign = signs.get(index)
        if sign is not None:
            end, is_space = sign
            if is_space and pending is None:
                pending = (index, end)
            index = end
            continue
        end = index + 1
        while end < length and unicodedata.combining(source[end]):
            end += 1
        folded = _fold(source[index:end])
        for character in folded:
            if character == " ":
                pending = pending or (index, end)
                continue
            after_dash = bool(characters) and characters[-1] == "-"
            if pending is not None and characters and character != "-" and not after_dash:
                characters.append(" ")
                starts.append(pending[0])
                ends.append(pending[1])
            pending = None
            characters.append(character)
            starts.append(index)
            ends.append(end)
        index = end
    return NormalisedText(source, "".join(characters), tuple(starts), tuple(ends))


def fold(text: str) -> str:
    """The folded text alone."""
    return normalise(text).text


def _signs(source: str) -> dict[int, tuple[int, bool]]:
    """Where Markdown's signs stand: start -> (end, counts as a space)."""
    signs: dict[int, tuple[int, bool]] = {}
    for match in _TO_NOTHING.finditer(source):
        signs[match.start()] = (match.end(), False)
    for match in _TO_SPACE.finditer(source):
        if match.end() > match.start():
            signs[match.start()] = (match.end(), True)
    return signs


def _fold(cluster: str) -> str:
    if len(cluster) == 1:
        if "a" <= cluster <= "z" or "0" <= cluster <= "9" or "а" <= cluster <= "я":
            return cluster
        if cluster in _FOLDED:
            return _FOLDED[cluster]
        if cluster.isspace():
            return " "
        if unicodedata.category(cluster) in ("Cf", "Cc", "Cs"):
            return ""
    composed = unicodedata.normalize("NFKC", cluster).casefold()
    return "".join(
        _FOLDED.get(character, " " if character.isspace() else character) for character in composed
    )
