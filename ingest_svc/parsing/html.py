"""HTML to blocks: heading hierarchy, lists, tables, forms; page chrome left out."""

from __future__ import annotations

import re

from bs4 import BeautifulSoup

from ingest_svc.cleaning.spaces import one_line
from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.html_noise import drop_noise
from ingest_svc.parsing.html_walk import HtmlWalk
from radref.errors import InvalidInput

_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_\-]{2,40})", re.I)
_XML_ENCODING = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_\-]{2,40})[\"']", re.I)
# Labels of icons and closed menus are shorter; from a few sentences on a reviewer should know.
_MIN_HIDDEN = 200


def declared_encoding(data: bytes) -> str:
    """The encoding an HTML file names in its first 4 KiB, "" when it names none."""
    match = _META_CHARSET.search(data[:4096]) or _XML_ENCODING.search(data[:4096])
    return match.group(1).decode("ascii") if match else ""


def parse_html(text: str) -> Draft:
    """Blocks of an HTML page.

    Raises:
        InvalidInput: CORRUPT_FILE, when elements are nested too deeply to be a document.
    """
    try:
        soup = BeautifulSoup(text, "lxml")
        title = one_line(soup.title.get_text()) if soup.title else ""
        hidden = drop_noise(soup)
        blocks = HtmlWalk().blocks(soup.body or soup)
    except RecursionError as exc:
        raise InvalidInput(
            "The HTML is damaged: its elements are nested too deeply.", reason="CORRUPT_FILE"
        ) from exc
    first = next((block for block in blocks if block.kind is BlockKind.HEADING and block.level == 1), None)
    warnings = (f"Hidden text of {hidden} characters was left out.",) if hidden >= _MIN_HIDDEN else ()
    title = title or (first.text[2:] if first else "")
    return Draft(tuple(blocks), "beautifulsoup", title=title, warnings=warnings)


def fragment_blocks(text: str) -> list[Block]:
    """Blocks of a piece of HTML inside another document."""
    soup = BeautifulSoup(text, "lxml")
    drop_noise(soup)
    return HtmlWalk().blocks(soup.body or soup)
