"""When a quotation counts as standing in a passage.

Gold quotes are verbatim text of the source document; passages are Markdown made from it. So both sides
lose what Markdown adds and what a line break or a typesetter adds, and nothing else: letters, digits, units,
punctuation and letter case must agree.
"""

from __future__ import annotations

import html
import re
import unicodedata

# Soft hyphen, zero-width space / non-joiner / joiner, word joiner, byte order mark.
_INVISIBLE = re.compile("[\u00ad\u200b\u200c\u200d\u2060\ufeff]")
_INLINE_TAG = re.compile(r"</?(?:sup|sub|b|i|em|strong|u|span|a|code)(?:\s[^<>]*)?>", re.IGNORECASE)
_BREAK_TAG = re.compile(r"<br\s*/?>", re.IGNORECASE)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)")
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_EMPHASIS = re.compile(r"[*_`]")
# A token of nothing but these is structure: a bullet, a heading or quote mark, a table's delimiter cell.
_STRUCTURE = frozenset("-–—−+•·#>:=")
_HYPHEN_AT_BREAK = re.compile(r"(?<=\w)-\s+(?=\w)")


def comparable(text: str) -> str:
    """The form in which quotes and passages are compared.

    NFC; soft hyphens and zero-width characters removed; HTML entities decoded, inline tags dropped;
    Markdown links reduced to their text, images dropped, escapes and emphasis marks removed; pipes of
    tables become spaces (so that a quote of a table row without pipes is found); tokens that are only
    structure (bullets, `#`, `>`, delimiter cells such as `---`) dropped; a hyphen and the line break after
    it closed up; white space of every kind collapsed to one space, none at the ends.
    """
    text = unicodedata.normalize("NFC", html.unescape(text))
    text = _INVISIBLE.sub("", text)
    text = _BREAK_TAG.sub(" ", text)
    text = _INLINE_TAG.sub("", text)
    text = _IMAGE.sub(" ", text)
    text = _LINK.sub(r"\1", text)
    text = _ESCAPE.sub("", text)
    text = _EMPHASIS.sub("", text).replace("|", " ")
    text = " ".join(token for token in text.split() if not _STRUCTURE.issuperset(token))
    return _HYPHEN_AT_BREAK.sub("-", text)


def comparable_fold(text: str) -> str:
    """`comparable`, lower-cased, with ё = е: the form in which key facts are looked for."""
    return comparable(text).casefold().replace("ё", "е")


def holds_quote(comparable_passage: str, quote: str) -> bool:
    """Whether `quote` stands wholly in a passage that went through `comparable`; False for an empty quote."""
    wanted = comparable(quote)
    return bool(wanted) and wanted in comparable_passage


def first_holding(comparable_passages: list[str], quote: str) -> int | None:
    """Rank, from 1, of the first passage that holds `quote`; None when none does."""
    for rank, passage in enumerate(comparable_passages, start=1):
        if holds_quote(passage, quote):
            return rank
    return None


def holds_fact(folded_answer: str, fact: str) -> bool:
    """Whether one of the forms of a key fact (separated by `|`) is a substring of an answer.

    The answer went through `comparable_fold`. A plain substring, as the question set defines it: a short
    number is also found inside a longer one.
    """
    forms = (comparable_fold(form) for form in fact.split("|"))
    return any(form and form in folded_answer for form in forms)
