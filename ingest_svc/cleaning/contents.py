"""Tables of contents: where they are in lines and in blocks, and which titles they name."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

_HEAD = re.compile(
    r"^\W*(?:table of contents|contents|содержание|оглавление|inhaltsverzeichnis|inhalt|sommaire)\W*$", re.I
)
_LEADER_ENTRY = re.compile(r"(?:\.[ \u00a0]?){4,}\s*[0-9ivxIVX]{0,5}\s*$|…{2,}\s*\d*\s*$|_{6,}\s*\d+\s*$")
_PAGE_ENTRY = re.compile(r"[^\W\d_].{2,}\s+\d{1,4}\s*$")
_BARE = re.compile(r"^\s*(?:\d{1,4}|[ivxlc]{1,6}|[A-ZА-Я]\.?|[IVXLC]+\.?|\d+(?:\.\d+)+\.?)\s*$")
_SENTENCE_END = re.compile(r"[.!?;:,]$")
_LABEL = re.compile(r"^\s*(?:[IVXLC]+\.|[A-ZА-Я]\.|\d+(?:\.\d+)*\.?|§\s*[\d.]+\.?)\s+")


@dataclass(frozen=True, slots=True)
class ContentsRegion:
    """Lines [start, end) of a table of contents and the titles it names, folded by `title_key`."""

    start: int
    end: int
    titles: frozenset[str]


def title_key(text: str) -> str:
    """A title for comparing: no numbering, no punctuation, folded case, ё as е."""
    text = _LABEL.sub("", _LEADER_ENTRY.sub("", text))
    return " ".join(re.findall(r"\w+", text.casefold().replace("ё", "е")))


def has_leader(line: str) -> bool:
    """True for "Scope ........ 3"."""
    return _LEADER_ENTRY.search(line) is not None


def is_contents_title(line: str) -> bool:
    """True for a line that says "Table of Contents", "Содержание", ... and nothing else."""
    return len(line) < 60 and _HEAD.match(line) is not None


def find_regions(lines: Sequence[str]) -> list[ContentsRegion]:
    """Tables of contents in lines of text.

    A region begins at a contents title, or at the first of three leader lines that stand close together.
    It ends before the first line of running prose.
    """
    regions: list[ContentsRegion] = []
    at = 0
    while at < len(lines):
        if is_contents_title(lines[at]):
            region = _grow(lines, at, titled=True)
        elif has_leader(lines[at]) and sum(has_leader(line) for line in lines[at : at + 12]) >= 3:
            region = _grow(lines, at, titled=False)
        else:
            region = None
        if region is None:
            at += 1
        else:
            regions.append(region)
            at = region.end
    return regions


def _grow(lines: Sequence[str], start: int, *, titled: bool) -> ContentsRegion | None:
    last_entry = start
    entries = 0
    pages: list[int] = []
    filled = 0
    at = start + titled
    while at < len(lines):
        line = lines[at].strip()
        if line:
            entry = has_leader(line) or (_PAGE_ENTRY.search(line) is not None and len(line) < 160)
            number = re.fullmatch(r"\d{1,4}", line) is not None
            if entry or number:
                last_entry = at
                entries += 1
                pages.extend(int(digits) for digits in re.findall(r"(\d{1,4})\s*$", line))
                filled = 0
            else:
                # A title may wrap or stand before its page number; prose or many lines end the region.
                filled += 1
                if filled > 4 or len(line) > 160 or (_SENTENCE_END.search(line) and not _BARE.match(line)):
                    break
                if is_contents_title(line):
                    break
        at += 1
    rising = sum(first <= second for first, second in itertools.pairwise(pages))
    # Page numbers grow; a list of doses or prices under the word "Contents" does not.
    if entries < 3 or rising < 0.8 * (len(pages) - 1):
        return None
    end = last_entry + 1
    titles = frozenset(key for key in _titles(lines[start:end]) if len(key) >= 3)
    return ContentsRegion(start, end, titles)


def _titles(lines: Sequence[str]) -> list[str]:
    """Titles of a region, also those that wrap: a line alone and joined with its successor."""
    texts: list[str] = []
    for line in lines:
        text = re.sub(r"\s+\d{1,4}\s*$", "", _LEADER_ENTRY.sub("", line)).strip()
        if text and not _BARE.match(text) and not is_contents_title(text):
            texts.append(text)
    pairs = [f"{first} {second}" for first, second in itertools.pairwise(texts)]
    return [title_key(text) for text in texts + pairs]
