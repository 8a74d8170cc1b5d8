"""Texts in one line with a separator between them, and back.

Inside a text the separator has a backslash before it. Backslashes right before a separator, or at the end
of a text, are doubled; all others stand as they are. In a pipe table this is GitHub's rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


def escaped(text: str, separator: str) -> str:
    """`text` with nothing in it that `split` takes for a separator.

    Args:
        separator: one character, not a backslash.
    """

    def twice(found: re.Match[str]) -> str:
        return found[1] * 2 + (f"\\{separator}" if found[2] else "")

    return re.sub(rf"(\\*)({re.escape(separator)}|\Z)", twice, text)


def joined(texts: Iterable[str], separator: str, between: str) -> str:
    """The texts in one line. `between` holds the separator and the spaces around it, e.g. "; "."""
    return between.join(escaped(text, separator) for text in texts)


def split(line: str, separator: str) -> list[str]:
    """The texts of a line that `joined` made, without the spaces around them."""
    texts: list[str] = []
    start = 0
    for found in re.finditer(rf"(\\*){re.escape(separator)}", line):
        if len(found[1]) % 2 == 0:
            texts.append(line[start : found.end() - 1])
            start = found.end()
    texts.append(line[start:])
    return [_unescaped(text.strip(" "), separator) for text in texts]


def _unescaped(text: str, separator: str) -> str:
    def half(found: re.Match[str]) -> str:
        return "\\" * (len(found[1]) // 2) + found[2]

    return re.sub(rf"(\\+)({re.escape(separator)}|\Z)", half, text)
