"""Which variants are well formed: the one set of rules for files, messages and passages.

Texts are one line each, in Unicode's composed form (NFC), with single spaces and without characters that
nobody sees; `tidy` brings about what can be brought about, `problems` finds what is left.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from radref.appropriateness.model import Procedure, Variant

# Characters. Those of ingest.v1.AppropriatenessVariant; a document id (128) leaves room for a prefix.
MAX_VARIANT_ID = 120
MAX_ID = 128
MAX_TITLE = 500
MAX_POPULATION = 100
MAX_CRITERION = 500
MAX_KEYWORD = 200
MAX_NARRATIVE = 10_000
MAX_NAME = 500
MAX_COMMENT = 1000
MAX_KB_VERSION = 64
# Items.
MAX_CRITERIA = 100
MAX_KEYWORDS = 200
MAX_PROCEDURES = 100
# The lowest and highest rating (the ACR's scale).
RATINGS = range(1, 10)

CRITERIA_LISTS = ("all", "any", "none", "assume")

_VARIANT_ID = re.compile(r"[a-z0-9-]+")
_ID = re.compile(r"[A-Za-z0-9._-]+")
# Letters of any script.
_POPULATION = re.compile(r"[^\W_]+(-[^\W_]+)*")
# Control characters, what only steers how others are shown (bidirectional marks, zero-width characters, soft
# hyphens), halves of characters, private and unassigned ones, separators of lines and paragraphs.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

# Where in a variant, by the names of the model, e.g. ("criteria", "all", 2) or ("procedures", 0, "rating").
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one field.

    Attributes:
        path: where.
        message: for a curator, without a full stop; never holds the text itself where that may be long.
        reason: name of an ErrorReason without prefix.
    """

    path: Path
    message: str
    reason: str = "INVALID_FIELD"


def tidy(text: str) -> str:
    """`text` on one line, in composed form, with single spaces and none around it."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def unseen_character(text: str) -> str:
    """The first character of `text` that nobody sees or that breaks its line; empty where there is none."""
    if text.isprintable():
        return ""
    return next((letter for letter in text if unicodedata.category(letter) in _UNSEEN), "")


def problems(variant: Variant) -> list[Problem]:
    """Everything that is wrong with a variant, in the order of its fields; empty for a good one."""
    return list(_problems(variant))


def _problems(variant: Variant) -> Iterator[Problem]:
    yield from _id(("id",), variant.id, _VARIANT_ID, MAX_VARIANT_ID, "a-z 0-9 -")
    yield from _id(("topic_id",), variant.topic_id, _ID, MAX_ID, "A-Z a-z 0-9 . _ -")
    yield from _text(("topic_title",), variant.topic_title, MAX_TITLE)
    yield from _text(("title",), variant.title, MAX_TITLE)
    yield from _population(variant.population)
    yield from _criteria(variant)
    yield from _texts(("keywords",), variant.keywords, MAX_KEYWORDS, MAX_KEYWORD)
    yield from _text(("narrative",), variant.narrative, MAX_NARRATIVE, may_be_empty=True)
    yield from _procedures(variant.procedures)
    yield from _text(("kb_version",), variant.kb_version, MAX_KB_VERSION)


def _id(path: Path, value: str, pattern: re.Pattern[str], limit: int, characters: str) -> Iterator[Problem]:
    if not value:
        yield Problem(path, "is empty", "EMPTY_TEXT")
    elif len(value) > limit:
        yield Problem(path, f"has {len(value)} characters, at most {limit} are possible", "TEXT_TOO_LONG")
    elif not pattern.fullmatch(value):
        yield Problem(path, f"may only hold the characters {characters}")


def _population(value: str) -> Iterator[Problem]:
    found = list(_text(("population",), value, MAX_POPULATION))
    yield from found
    if not found and (value != value.lower() or not _POPULATION.fullmatch(value)):
        yield Problem(("population",), 'must be lower-case words joined by hyphens, e.g. "adult"')


def _criteria(variant: Variant) -> Iterator[Problem]:
    for name in CRITERIA_LISTS:
        yield from _texts(("criteria", name), getattr(variant.criteria, name), MAX_CRITERIA, MAX_CRITERION)
    if not variant.criteria.all and not variant.criteria.any:
        yield Problem(("criteria",), 'needs at least one item under "all" or "any"; else it fits everybody')
    excluded = {item.casefold() for item in variant.criteria.none}
    for name in ("all", "any", "assume"):
        for index, item in enumerate(getattr(variant.criteria, name)):
            if item.casefold() in excluded:
                yield Problem(("criteria", name, index), f'stands under "{name}" and under "none"')


def _procedures(procedures: tuple[Procedure, ...]) -> Iterator[Problem]:
    if not procedures:
        yield Problem(("procedures",), "needs at least one procedure", "OUT_OF_RANGE")
    if len(procedures) > MAX_PROCEDURES:
        yield Problem(
            ("procedures",),
            f"has {len(procedures)} items, at most {MAX_PROCEDURES} are possible",
            "OUT_OF_RANGE",
        )
    for index, procedure in enumerate(procedures):
        path = ("procedures", index)
        yield from _id((*path, "id"), procedure.id, _ID, MAX_ID, "A-Z a-z 0-9 . _ -")
        yield from _text((*path, "name"), procedure.name, MAX_NAME)
        if procedure.rating not in RATINGS:
            yield Problem((*path, "rating"), f"is {procedure.rating}; ratings are 1 to 9", "OUT_OF_RANGE")
        yield from _text((*path, "comment"), procedure.comment, MAX_COMMENT, may_be_empty=True)
    yield from _repeated("id", (procedure.id for procedure in procedures))
    yield from _repeated("name", (procedure.name.casefold() for procedure in procedures))


def _repeated(name: str, values: Iterable[str]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, value in enumerate(values):
        if value and value in first:
            yield Problem(
                ("procedures", index, name),
                f"is also the {name} of procedure {first[value] + 1} of this variant",
            )
        first.setdefault(value, index)


def _texts(path: Path, values: tuple[str, ...], most: int, limit: int) -> Iterator[Problem]:
    if len(values) > most:
        yield Problem(path, f"has {len(values)} items, at most {most} are possible", "OUT_OF_RANGE")
    for index, value in enumerate(values):
        yield from _text((*path, index), value, limit)


def _text(path: Path, value: str, limit: int, *, may_be_empty: bool = False) -> Iterator[Problem]:
    if not value:
        if not may_be_empty:
            yield Problem(path, "is empty", "EMPTY_TEXT")
        return
    if len(value) > limit:
        yield Problem(path, f"has {len(value)} characters, at most {limit} are possible", "TEXT_TOO_LONG")
    unseen = unseen_character(value)
    if unseen:
        yield Problem(path, f"holds the invisible character U+{ord(unseen):04X}")
    elif value != tidy(value):
        yield Problem(path, "must be one line in composed form (NFC), with single spaces and none around it")
