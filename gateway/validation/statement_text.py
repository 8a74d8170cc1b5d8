"""What of a generator's own words may stand on a screen: no invisible characters, no citation marks, no
markup, no address that its quotations do not hold.

Citations travel beside the text; a mark inside it names a passage that nobody checked, so marks of every kind
are taken out, those with a known id, too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from gateway.lookalikes import skeleton, visible

MAX_STATEMENT: Final = 8000
"""Characters. The longest composed quotation is half of it; more is an output that does not end."""
MAX_REMARK: Final = 600
"""Characters of what is missing, or of a contradiction's description."""

_ID: Final = r"(?:[0-9a-f]{12,64}|(?=[a-f]{0,63}\d)[0-9a-f]{6,64}|[0-9a-f]{4,64}\s?(?:…|\.{3}))"
_OPEN: Final = r"[\[({<]"
_CLOSE: Final = r"[\])}>]"
_NAME: Final = r"(?:passage|citation|cite|source|quote|document|doc|ref|цитата|источник|отрывок|документ)"
_IDS: Final = rf"[\"']?{_ID}[\"']?(?:\s*[,;]\s*(?:id\s*[:=]\s*)?[\"']?{_ID}[\"']?)*"
# Found in the skeleton of a text, so that look-alike letters and brackets hide nothing.
_MARKS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # "[deadbeef...]", "(id: 0a1b..., 2c3d...)", "【passage id=0a1b】"
        rf"\s?{_OPEN}+\s*(?:{_NAME}\s?)?(?:ids?)?\s*[:=#№]?\s*{_IDS}\s*{_CLOSE}+",
        # "(id: whatever)", "[source: 3]"
        rf"\s?{_OPEN}\s*(?:{_NAME}\s?(?:id|№)?|id)\s*[:=]\s*[^\[\](){{}}<>]{{0,80}}{_CLOSE}",
        # "[1]", "[2, 3]", "[^1]", "【4†source】"
        r"\s?\[\^?\d{1,2}(?:\s?[,;–-]\s?\d{1,2})*\]|\s?\[\d{1,3}†[^\[\]]{0,40}\]",
        # An id without brackets.
        r"\s?(?<![0-9a-z])(?=[a-f]{0,63}\d)[0-9a-f]{16,64}(?![0-9a-z])|\s?(?<![0-9a-z])[a-f]{20}(?![0-9a-z])",
        # Template tokens and our own delimiters.
        r"<\|[^|<>\n]{1,60}\|>|</?(?:think|context|passage|question|system|user|assistant)\b[^<>\n]{0,200}>",
    )
)
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ELEMENT: Final = re.compile(
    r"<(script|style|iframe|object|svg)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE
)
_TAG: Final = re.compile(
    r"</?(?:a|img|form|input|button|link|meta|base|embed|video|audio|source|body|html|head|math)\b[^<>]{0,400}"
    r"(?:>|\Z)"
    r"|</?(?:b|i|u|em|strong|p|div|span|br|hr|ul|ol|li|table|tr|td|th|thead|tbody|h[1-6]|code|pre|blockquote"
    r"|small|mark|font|center|details|summary|sub)"
    r"(?:\s+[\w-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s<>]+))*\s*/?>",
    re.IGNORECASE,
)
# Raised digits carry meaning: "10<sup>5</sup>" must not become 105.
_RAISED: Final = re.compile(r"<sup>\s*([-−]?\d{1,4})\s*</sup>", re.IGNORECASE)
_SUP: Final = re.compile(r"</?sup>", re.IGNORECASE)
_SUPERSCRIPT: Final = str.maketrans("0123456789-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")
_LINK: Final = re.compile(
    r"!?\[([^\[\]]{0,400})\](?:\(\s*[^()\s]{0,2000}(?:\s+[\"'][^\"']*[\"'])?\s*\)|\[[^\[\]]{0,80}\])"
)
_TOP_LEVEL: Final = "com|org|net|edu|gov|info|biz|io|ai|app|dev|ru|рф|de|uk|eu|us|cn|su|xyz|site|online|top"
_ADDRESS: Final = re.compile(
    r"[^\s(<\[«\"]*(?:://|www\.|(?:java|vb)script:)[^\s)>\]»\"]*|\b(?:data|mailto|tel|file):\S+"
    r"|[\w.+-]+@[\w-]+\.\w[\w.-]*"
    rf"|(?<![\w.])(?:[a-z0-9-]*[a-z][a-z0-9-]*\.)+(?:{_TOP_LEVEL})(?![\w-])(?:/\S*)?",
    re.IGNORECASE,
)
_SPACES: Final = re.compile(r"[ \t\u00a0]{2,}")


def shown_text(text: str) -> str:
    """The text without what must not reach a reader; "" when nothing is left."""
    text = visible(text, line_ends=False)
    text = _ELEMENT.sub(" ", _COMMENT.sub(" ", text))
    for pattern in _MARKS:
        text = _without(pattern.sub("", text), pattern)
    text = _LINK.sub(lambda match: match.group(1), text)
    text = _RAISED.sub(lambda match: match.group(1).translate(_SUPERSCRIPT), text)
    text = _TAG.sub(" ", _SUP.sub("^", text))
    text = _SPACES.sub(" ", text).strip()
    return text if any(map(str.isalnum, text)) else ""


def _without(text: str, pattern: re.Pattern[str]) -> str:
    """The text without what the pattern finds in its skeleton."""
    kept: list[str] = []
    position = 0
    for match in pattern.finditer(skeleton(text)):
        kept.append(text[position : match.start()])
        position = match.end()
    return "".join((*kept, text[position:])) if kept else text


def foreign_addresses(text: str, quotes: Iterable[str]) -> int:
    """How many web or mail addresses of the text stand in none of the quotations."""
    held = unicodedata.normalize("NFKC", visible("\n".join(quotes), line_ends=True)).casefold()
    text = unicodedata.normalize("NFKC", text)
    return sum(
        match.group().rstrip(".,;:!?)»\"'").casefold() not in held for match in _ADDRESS.finditer(text)
    )
