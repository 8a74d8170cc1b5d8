"""Where the expected output of a file is, by the naming conventions of public parser test suites."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from bs4 import BeautifulSoup

from benchmarks.parsing_quality.markdown_text import MarkdownText, Words, read_article, read_markdown
from benchmarks.parsing_quality.words import words

_EXPECTED_FOLDERS = ("groundtruth", "expected")
_EXPECTED_PREFIX = "expected_outputs__"
_ACTUAL_SUFFIX = "-actual.csv"
_SPLIT_WORD = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_])")
_LANDMARKS = ("navigation", "banner", "contentinfo", "search")
_WEB_PAGES = frozenset({".html", ".htm", ".xhtml"})


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a file should give.

    Attributes:
        source: name of the file that says so.
        whole: all of it; precision is measured against this.
        body: for web pages without the page around the article, else the same as `whole`; recall, headings
            and tables are measured against this.
        has_structure: False for plain text, which says nothing of headings and tables.
        has_text: False for a lone table, which says nothing of the words around it.
    """

    source: str
    whole: MarkdownText
    body: MarkdownText
    has_structure: bool = True
    has_text: bool = True


def expected_for(file: Path) -> Expectation | None:
    """The expectation for a file, or None.

    Looked for: groundtruth/NAME.EXT.md, groundtruth/NAME.md (also in a folder `expected`),
    expected_outputs__NAME.md, NAME.txt beside an image or PDF, NAME-actual.csv (its table).
    """
    for folder in _EXPECTED_FOLDERS:
        for name in (f"{file.name}.md", f"{file.stem}.md"):
            if (found := file.parent / folder / name).is_file():
                return _markdown(found, file)
    if (found := file.parent / f"{_EXPECTED_PREFIX}{file.stem}.md").is_file():
        return _markdown(found, file)
    if file.suffix.lower() != ".txt" and (found := file.with_suffix(".txt")).is_file():
        # A word that its line end cut in two is one word in the output.
        content = words(_SPLIT_WORD.sub("", found.read_text("utf-8-sig").replace("\r\n", "\n")))
        flat = MarkdownText(content, (), ())
        return Expectation(found.name, flat, flat, has_structure=False)
    if (found := file.parent / f"{file.stem}{_ACTUAL_SUFFIX}").is_file():
        return _csv(found)
    return None


def is_expectation(file: Path) -> bool:
    """True for files that only say what others should give."""
    if file.parent.name in _EXPECTED_FOLDERS or file.name.startswith(_EXPECTED_PREFIX):
        return True
    if file.name.endswith(_ACTUAL_SUFFIX):
        return any(other.stem == file.name.removesuffix(_ACTUAL_SUFFIX) for other in file.parent.iterdir())
    if file.suffix.lower() != ".txt":
        return False
    return any(other != file and other.stem == file.stem for other in file.parent.iterdir())


def _markdown(found: Path, file: Path) -> Expectation:
    text = found.read_text("utf-8-sig")
    whole = read_markdown(text)
    is_page = file.suffix.lower() in _WEB_PAGES
    body = read_article(text, _navigation(file.read_bytes())) if is_page else whole
    return Expectation(found.name, whole, body)


def _navigation(page: bytes) -> list[Words]:
    """Words of what the page itself marks as navigation, by the landmarks of HTML and ARIA."""
    soup = BeautifulSoup(page, "lxml")
    marked = [*soup.find_all(["nav", "footer"]), *soup.find_all(True, role=list(_LANDMARKS))]
    return [words(tag.get_text(" ")) for tag in marked]


def _csv(found: Path) -> Expectation:
    rows = csv.reader(io.StringIO(found.read_text("utf-8-sig")))
    grid = tuple(tuple(" ".join(words(cell)) for cell in row) for row in rows)
    text = MarkdownText(tuple(word for row in grid for cell in row for word in cell.split()), (), (grid,))
    return Expectation(found.name, text, text, has_text=False)
