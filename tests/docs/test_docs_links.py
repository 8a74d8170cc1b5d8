"""Every relative link and anchor of docs/ leads somewhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8"))


def links(page: Path) -> Iterator[str]:
    for token in tokens(page):
        for part in token.children or ():
            target = part.attrGet("href") or part.attrGet("src")
            if target:
                yield str(target)


def anchors(page: Path) -> set[str]:
    """As GitHub names headings."""
    seen: Counter[str] = Counter()
    found = set()
    parsed = tokens(page)
    for opening, inline in pairwise(parsed):
        if opening.type == "heading_open":
            words = "".join(part.content for part in inline.children or ())
            name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            found.add(f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for link in links(page):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        inside = target.is_relative_to(ROOT) and target.exists()
        if not inside or (parts.fragment and parts.fragment not in anchors(target)):
            dead.append(link)
    assert not dead


def test_anchors_are_githubs() -> None:
    names = anchors(ROOT / "docs/operations.md")
    assert {"back-up", "certificates-and-keys", "what-was-tried-and-what-not"} <= names
    assert "no-such-section" not in names


def test_the_runbooks_name_sections_of_operations() -> None:
    """Who is paged needs the section, not the page."""
    for page in (ROOT / "docs/runbooks").glob("*.md"):
        text = page.read_text("utf-8")
        assert text.count("operations.md") == text.count("](../operations.md#"), page.name
