"""Text of inline HTML as a reader sees it, on one line."""

from __future__ import annotations

import re

from bs4 import Tag
from bs4.element import NavigableString

from ingest_svc.cleaning.hyphens import drop_soft_hyphens
from ingest_svc.cleaning.spaces import one_line
from ingest_svc.parsing.scripts import superscript

INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark nobr q s samp small span "
    "strike strong sub sup time tt u var wbr label output ruby rb rt math mi mn mo mrow mtext ms msup msub "
    "msubsup mfrac msqrt mroot mstyle mpadded semantics".split()
)
# Text that its author struck out (a repealed rule) must not read like text in force.
STRUCK = frozenset({"del", "s", "strike"})
LISTS = frozenset({"ul", "ol", "dir"})
_PAIR = frozenset({"dt", "dd"})
CHOICES = frozenset({"radio", "checkbox"})
_EMPTY_OPTION = re.compile(r"^[\s\-–—.…]*$")
_WORD_END = re.compile(r"[a-zß-öø-ÿа-яё]{3}$")
_WORD_START = re.compile(r"[A-ZÀ-ÖØ-ÞА-ЯЁ][a-zß-öø-ÿа-яё]{2}")
_UNSEEN_INPUTS = frozenset({"hidden", "submit", "button", "reset", "image", "password", *CHOICES})


def inline_text(node: Tag) -> str:
    """Text of an element on one line; block elements inside are separated by a space."""
    return one_line(drop_soft_hyphens(raw_text(node)))


def cell_text(cell: Tag) -> str:
    """Text of a table cell on one line.

    Items of lists are separated by semicolons or keep their numbers, terms have a colon before their
    definition, rows of a nested table are separated by semicolons and its cells by commas. A cell that holds
    only a picture says what the picture stands for.
    """
    text = inline_text(cell)
    if text:
        return text
    seen = [one_line(str(image.get("alt") or "")) for image in cell.find_all("img")]
    return " ".join(alt for alt in seen if alt)


def raw_text(node: Tag, skip: frozenset[str] = frozenset()) -> str:
    """Text with its white space; elements named in `skip` are left out."""
    parts: list[str] = []
    for child in node.children:
        if isinstance(child, NavigableString):
            if type(child) is NavigableString:
                parts.append(str(child))
        elif isinstance(child, Tag) and child.name not in skip:
            parts.append(element_text(child, "".join(parts[-4:])[-4:], skip))
    return "".join(parts)


def element_text(node: Tag, before: str, skip: frozenset[str] = frozenset()) -> str:
    """Text of one element; `before` is the end of the text that it follows (4 characters are enough)."""
    name = node.name
    if name == "br":
        return " "
    if name == "select":
        return " " + "; ".join(field_values(node)) + " "
    if name == "sup":
        return superscript(before, raw_text(node, skip))
    if name in {"msup", "msub", "mfrac", "msubsup", "msqrt", "mroot"}:
        return _formula(node)
    if name in LISTS:
        return _list_in_line(node, skip)
    if name == "dl":
        return _definitions_in_line(node, skip)
    if name == "table":
        return f" {_table_in_line(node)} "
    text = raw_text(node, skip)
    if name in STRUCK and text.strip():
        return f"~~{text.strip()}~~"
    if name == "q":
        return f"“{text.strip()}”"
    if name not in INLINE:
        return f" {text} "
    # Two elements that only a style sheet puts on lines of their own must not make one word.
    apart = isinstance(node.previous_sibling, Tag) and _WORD_END.search(before) and _WORD_START.match(text)
    return f" {text}" if apart else text


def field_values(control: Tag) -> list[str]:
    """What a reader sees in a form field: the options, the text, or the placeholder."""
    if control.name == "select":
        texts = [inline_text(option) for option in control.find_all("option")]
        return [text for text in texts if not _EMPTY_OPTION.match(text)]
    if control.name == "textarea":
        seen = inline_text(control) or str(control.get("placeholder") or "")
    elif control.get("type") in _UNSEEN_INPUTS:
        seen = ""
    else:
        seen = str(control.get("value") or control.get("placeholder") or "")
    seen = one_line(seen)
    return [] if _EMPTY_OPTION.match(seen) else [seen]


def item_labels(node: Tag) -> list[str]:
    """Labels of the direct items of a list as a browser shows them: "-", "3.", "c.", "IV."."""
    items = node.find_all("li", recursive=False)
    if node.name != "ol":
        return ["-"] * len(items)
    style = _number_style(node)
    start = _whole(node.get("start"))
    backwards = node.has_attr("reversed")
    number = start if start is not None else (len(items) if backwards else 1)
    labels: list[str] = []
    for item in items:
        own = _whole(item.get("value"))
        number = own if own is not None else number
        labels.append(f"{_numeral(number, style)}.")
        number += -1 if backwards else 1
    return labels


def _number_style(node: Tag) -> str:
    style = str(node.get("style") or "").lower()
    for word, letter in (("alpha", "a"), ("latin", "a"), ("roman", "i")):
        if word in style:
            return letter.upper() if f"upper-{word}" in style else letter
    kind = str(node.get("type") or "1")
    return kind if kind in {"a", "A", "i", "I"} else "1"


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,6}", value.strip()) else None


def _numeral(number: int, style: str) -> str:
    if style == "1" or number < 1:
        return str(number)
    if style in "iI":
        parts: list[str] = []
        for value, sign in (
            (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
            (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
        ):  # fmt: skip
            count, number = divmod(number, value)
            parts.append(sign * min(count, 9))
        text = "".join(parts)
    else:
        text = ""
        while number:
            number, place = divmod(number - 1, 26)
            text = chr(ord("a") + place) + text
    return text.upper() if style.isupper() else text


def _list_in_line(node: Tag, skip: frozenset[str]) -> str:
    items = node.find_all("li", recursive=False)
    texts = [one_line(raw_text(item, skip)) for item in items]
    if node.name == "ol":
        shown = [f"{label} {text}" for label, text in zip(item_labels(node), texts, strict=True) if text]
    else:
        shown = [text for text in texts if text]
    return " " + ("; ".join(shown) if shown else raw_text(node, skip)) + " "


def _definitions_in_line(node: Tag, skip: frozenset[str]) -> str:
    """ "term: definition; term: definition"."""
    pairs: list[str] = []
    terms: list[str] = []
    for part in node.find_all(["dt", "dd"]):
        if part.find_parent("dl") is not node:
            continue
        # Without end tags the next part is parsed into this one.
        text = one_line(raw_text(part, skip | _PAIR))
        if part.name == "dt":
            terms.extend([text] if text else [])
        elif text:
            pairs.append(f"{', '.join(terms)}: {text}" if terms else text)
            terms = []
    return " " + ("; ".join([*pairs, *terms]) or raw_text(node, skip)) + " "


def _table_in_line(node: Tag) -> str:
    rows = [row for row in node.find_all("tr") if row.find_parent("table") is node]
    lines = [
        ", ".join(text for cell in row.find_all(["td", "th"], recursive=False) if (text := cell_text(cell)))
        for row in rows
    ]
    caption = node.find("caption")
    title = f"{inline_text(caption)}: " if isinstance(caption, Tag) else ""
    return title + "; ".join(line for line in lines if line)


def _formula(node: Tag) -> str:
    """MathML whose layout carries meaning: powers, indices, fractions, roots."""
    parts = [one_line(element_text(child, "")) for child in node.find_all(True, recursive=False)]
    grouped = [part if re.fullmatch(r"[\w.,]*", part) else f"({part})" for part in parts]
    if node.name == "msqrt":
        return f"√({one_line(raw_text(node))})"
    if len(grouped) == 3 and node.name == "msubsup":
        return f"{grouped[0]}_{grouped[1]}^{grouped[2]}"
    if len(grouped) != 2:
        return raw_text(node)
    first, second = grouped
    if node.name == "mroot":
        return f"{first}^(1/{second})"
    return {"msup": f"{first}^{second}", "msub": f"{first}_{second}", "mfrac": f"{first}/{second}"}[node.name]
