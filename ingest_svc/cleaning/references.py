"""Reference lists: what an article cites says nothing about the subject itself."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ingest_svc.document import Block, BlockKind

Blocks = tuple[Block, ...]

# The whole title. "Normative references" and "References in text" name documents that the rules depend on.
_TITLE = re.compile(
    r"^(?:(?:\d{1,2}(?:\.\d{1,2})*|[IVX]{1,5})[.)]?\s+)?"
    r"(?:references|reference list|list of references|references and (?:notes|further reading)|"
    r"bibliography|works cited|literature cited|cited literature|"
    r"(?:список )?(?:использованн(?:ой|ая) )?литератур[аы]|список (?:использованных )?источников|"
    r"библиография|библиографический список|список литературы и источников|"
    r"literatur|literaturverzeichnis|literaturnachweise?|quellenverzeichnis|"
    r"r[ée]f[ée]rences(?: bibliographiques)?)\s*[:.]?$",
    re.I,
)
_IDENTIFIER = re.compile(r"\bdoi:|doi\.org/|\bPMC?ID\b|\bISBN\b|\barXiv:", re.I)
_OTHERS = re.compile(r"\bet al\b|\bи др\.|\bи соавт|\bu\. ?a\.", re.I)
_INITIALS = r"(?:[A-ZÀ-ÖØ-ÞА-ЯЁ]\.(?: ?|-)){1,3}"
_SURNAME = r"[A-ZÀ-ÖØ-ÞА-ЯЁ][\w’'\-]+"
# "Miller DL, ", "Obuchowski, N.A., ", "Иванов И.И., ", "А.Б. Петров", at the head of the entry.
_AUTHOR = re.compile(
    rf"^(?:{_SURNAME},? (?:{_INITIALS}|[A-ZÀ-ÖØ-Þ]{{1,3}}(?=[,.;: ]))|{_INITIALS} ?{_SURNAME}[,. ])"
)
# "277(3):826", "vol. 12", "pp. 54-75", "С. 12–15", "Т. 5, № 3", "; 2016", "// Радиология".
_LOCATOR = re.compile(
    r"\b\d{1,4} ?\(\d{1,4}(?:[-–]\d{1,4})?\) ?[:;,.]? ?e?\d|; ?\d{1,4}(?:\(\d+\))?: ?e?\d|\bvol\.? ?\d|"
    r"\bpp?\. ?\d|\bS\. ?\d|\b[СC]\. ?\d|\bТ\. ?\d|№ ?\d+\. ?[–—-] ?[СC]\.| // ",
    re.I,
)
_YEAR = re.compile(r"\b(?:1[89]\d\d|20\d\d)[a-z]?\b")
_LABEL = re.compile(r"^(?:[-*•]\s+)?(?:\[?\d{1,3}[\].)]+\s*|\[\^?\w{1,8}\]:?\s*|\^\s*)?")
_MAX_ENTRY = 700
# One entry alone may be a hint to read on; real lists have more.
_MIN_ENTRIES = 3
_MIN_CERTAIN = 0.7


def drop_reference_lists(blocks: Blocks) -> Blocks:
    """Drops reference lists with their titles.

    A list is one only under a title that says so and nothing else, when it has at least three entries,
    at least 0.7 of them cite like articles and books do (authors with initials, year, volume and pages, DOI)
    and the rest at least have a year or an address. Laws, standards and tables are no such entries: a list of
    them stays, as does every text after the list.
    """
    kept: list[Block] = []
    at = 0
    while at < len(blocks):
        if is_reference_title(_plain(blocks[at])):
            end = _list_end(blocks, at + 1)
            if end > at + 1:
                if end < len(blocks) and blocks[end].kind is not BlockKind.HEADING:
                    # What follows the list without a title of its own keeps this one.
                    kept.append(blocks[at])
                at = end
                continue
        kept.append(blocks[at])
        at += 1
    return tuple(kept)


def is_reference_title(line: str) -> bool:
    """True for a line that says "References", "7. Список литературы", ... and nothing else."""
    return len(line) < 60 and _TITLE.match(line.strip(" *_")) is not None


def is_citation(entry: str) -> bool:
    """True for an entry that cites like an article or a book: an identifier with a year, or two of authors,
    others ("et al.") and place of print with a year."""
    if len(entry) > _MAX_ENTRY or not _YEAR.search(entry):
        return bool(len(entry) <= _MAX_ENTRY and _IDENTIFIER.search(entry) and _AUTHOR.match(entry))
    authors = _AUTHOR.match(entry) is not None
    others = _OTHERS.search(entry) is not None
    located = _LOCATOR.search(entry) is not None
    return _IDENTIFIER.search(entry) is not None or authors + others + located >= 2


def _list_end(blocks: Blocks, start: int) -> int:
    """The end of the reference list that starts at `start`; `start` when there is none."""
    entries: list[str] = []
    end = start
    at = start
    while at < len(blocks) and blocks[at].kind in {BlockKind.PARAGRAPH, BlockKind.LIST}:
        found = _entries(blocks[at])
        if not found or not all(map(_may_be_entry, found)):
            break
        entries.extend(found)
        at += 1
        if any(map(is_citation, found)):
            end = at
    certain = sum(map(is_citation, entries))
    return end if certain >= _MIN_ENTRIES and certain >= _MIN_CERTAIN * len(entries) else start


def _entries(block: Block) -> Sequence[str]:
    """Entries without their labels; indented lines belong to the item above."""
    entries: list[str] = []
    for line in block.text.split("\n"):
        if line[:1].isspace() and entries:
            entries[-1] = f"{entries[-1]} {line.strip()}"
        elif line.strip():
            entries.append(_LABEL.sub("", line.strip(), count=1))
    return entries


def _may_be_entry(entry: str) -> bool:
    return len(entry) <= _MAX_ENTRY and (
        is_citation(entry) or _YEAR.search(entry) is not None or "://" in entry or "www." in entry
    )


def _plain(block: Block) -> str:
    if block.kind is BlockKind.HEADING:
        return block.text.lstrip("# ")
    return block.text if block.kind is BlockKind.PARAGRAPH else ""
