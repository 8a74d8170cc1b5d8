"""Author blocks of articles: names, affiliations and addresses between the title and the text."""

from __future__ import annotations

import re

from ingest_svc.document import Block, BlockKind

Blocks = tuple[Block, ...]

_INITIAL = r"[A-ZÀ-ÖØ-ÞА-ЯЁ]\."
_WORD = r"(?:(?:O’|O'|Mc|Mac)?[A-ZÀ-ÖØ-ÞА-ЯЁ][a-zà-öø-ÿа-яё’']+(?:-[A-ZÀ-ÖØ-ÞА-ЯЁ][a-zà-öø-ÿа-яё]+)?)"
_PARTICLE = r"(?:van|von|de|der|den|di|da|la|le|el|al|bin|zu)"
_SIGN = r"(?:\d{1,2}|[a-f](?![a-z])|[*†‡§¶#])"
_MARK = rf"(?:\s?[\^\[(]*{_SIGN}(?:[,;]?\s?{_SIGN})*[\])]*)"
_DEGREE = r"(?:,?\s(?:MD|M\.D\.|PhD|Ph\.D\.|MSc|MPH|BSc|FRCR|FACR|DSc|Dr\. med\.|д\.м\.н\.|к\.м\.н\.))"
# Atomic, so that a line that is no list of names is left in time proportional to its length.
_NAME = (
    rf"(?>{_WORD}\s(?:{_INITIAL}\s?){{1,3}}(?!\s?[A-ZÀ-ÖØ-ÞА-ЯЁ])"
    rf"|{_WORD}(?:\s(?:{_WORD}|{_INITIAL}|{_PARTICLE}(?!\w))){{1,4}}|(?:{_INITIAL}[\s-]?){{1,3}}{_WORD})"
)
_ONE = rf"(?>{_NAME}{_DEGREE}*{_MARK}?)"
_NAMES = re.compile(
    rf"^{_ONE}(?:\s?(?:,\s?(?:and\s|und\s|и\s)?|;\s?|\sand\s|\sund\s|\sи\s|\s&\s){_ONE})*[.;]?$"
)
_MARKED = re.compile(rf"[a-zà-öø-ÿа-яё.]{_MARK}(?:[,;\s]|$)")
_AUTHORS_LABEL = re.compile(r"^(?:authors?|by|авторы?|autoren|autor(?:in)?)\s?:\s*", re.I)
_AFFILIATION = re.compile(
    r"^[\s^\[(]*(?:\d{1,2}|[a-f](?=[\s)])|[*†‡§¶])[\s\])^]*(?!\.)"
    r"(?=.*(?:university|universit|institut|hospital|department|school of|faculty|college|clinic|klinik|"
    r"center|centre|laborator|университет|институт|больниц|кафедр|клиник|центр|академи|отделени))",
    re.I,
)
_ADDRESS = re.compile(
    r"^\W*(?:e-?mail|correspond(?:ence|ing author)|address for correspondence|orcid(?: id)?|"
    r"для (?:корреспонденции|переписки)|электронная почта|эл\. почта|korrespondenz(?:adresse)?|"
    r"автор,? ответственный за переписку|контактн\w+ автор)\b",
    re.I,
)
_MAIL_ONLY = re.compile(r"^\W*[\w.+-]+@[\w-]+(?:\.[\w-]+)+(?:[,;\s]+[\w.+-]+@[\w-]+(?:\.[\w-]+)+)*\W*$")
_MAX_LINE = 400
_MAX_LABELLED = 300
# Blocks that may stand before the names: a title, a journal line, a second title in English.
_MAX_BEFORE = 6
# Below, the page is no article but a list of people.
_MIN_BODY = 1000


def drop_author_blocks(blocks: Blocks) -> Blocks:
    """Drops the author block of an article.

    It is a run of whole paragraphs among the first of the document, before any running text: a line of
    names only, then affiliations that carry the mark of a name ("1 Department of ..."), addresses of
    correspondence, mail and ORCID. A line of names alone is no proof: it goes when its names carry such marks
    and an affiliation or address follows, or when it says "Authors:". Lists of contacts, signatures and names
    in the text stay, and so does everything in a document that is not mainly running text.
    """
    start = next((at for at, block in enumerate(blocks[:_MAX_BEFORE]) if _is_names(block)), None)
    if start is None or any(_is_prose(block) for block in blocks[:start]):
        return blocks
    if sum(len(block.text) for block in blocks if _is_prose(block)) < _MIN_BODY:
        return blocks
    end = start + 1
    while end < len(blocks) and _goes_on(blocks[end]):
        end += 1
    labelled = _AUTHORS_LABEL.match(blocks[start].text) is not None
    marked = _MARKED.search(blocks[start].text) is not None
    if not labelled and not (marked and end > start + 1):
        return blocks
    return blocks[:start] + blocks[end:]


def _is_names(block: Block) -> bool:
    if block.kind is not BlockKind.PARAGRAPH or len(block.text) > _MAX_LINE:
        return False
    return _NAMES.match(_AUTHORS_LABEL.sub("", block.text)) is not None


def _goes_on(block: Block) -> bool:
    text = block.text
    if block.kind is not BlockKind.PARAGRAPH or len(text) > _MAX_LINE:
        return False
    if _MAIL_ONLY.match(text) or _AFFILIATION.match(text) or _is_names(block):
        return True
    return _ADDRESS.match(text) is not None and len(text) <= _MAX_LABELLED


def _is_prose(block: Block) -> bool:
    """A paragraph of running text: several words and a sentence end inside or at the end."""
    return (
        block.kind is BlockKind.PARAGRAPH
        and len(block.text) > 120
        and re.search(r"[a-zа-яё)][.!?](?:\s|$)", block.text) is not None
        and not _goes_on(block)
        and not _is_names(block)
    )
