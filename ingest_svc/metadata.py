"""What a curator says about a document, and what of it is accepted."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from radref.errors import InvalidInput, RadrefError

# Limits of radref.api.common.v1.DocumentMetadata, in characters.
MAX_TITLE = 500
MAX_SUPERSEDES = 100
_TEXT_LIMITS = {"title": MAX_TITLE, "source_category": 64, "source": 2000, "licence": 500, "authority": 200}
_YEARS = range(1800, 2201)
# The characters and lengths of a BCP 47 tag, not the registry of languages behind it.
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_DOCUMENT_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
UNDETERMINED_LANGUAGE = "und"


@dataclass(frozen=True, slots=True)
class DocumentMetadata:
    """Mirrors radref.api.common.v1.DocumentMetadata (see there for units and ranges)."""

    topic: str
    title: str = ""
    language: str = ""
    source_category: str = ""
    source: str = ""
    licence: str = ""
    year: int = 0
    authority: str = ""
    effective_from: datetime | None = None
    effective_until: datetime | None = None
    supersedes: tuple[str, ...] = ()


def check_metadata(metadata: DocumentMetadata, topics: Collection[str]) -> None:
    """Refuses metadata outside of its documented ranges. An empty title or language is filled in later.

    Args:
        topics: the site's topics.

    Raises:
        InvalidInput: EMPTY_TEXT (no topic), UNKNOWN_TOPIC, TEXT_TOO_LONG, OUT_OF_RANGE or INVALID_FIELD.
    """
    if not metadata.topic:
        raise _refusal("topic", "EMPTY_TEXT", f"The topic is missing. Known topics: {_listed(topics)}.")
    if metadata.topic not in topics:
        raise _refusal(
            "topic", "UNKNOWN_TOPIC", f"This topic does not exist here. Known topics: {_listed(topics)}."
        )
    for name, limit in _TEXT_LIMITS.items():
        if len(getattr(metadata, name)) > limit:
            raise _refusal(name, "TEXT_TOO_LONG", f"The {name} is longer than {limit} characters.", limit)
    language = metadata.language
    if language and (len(language) > 16 or not _LANGUAGE.fullmatch(language)):
        raise _refusal("language", "INVALID_FIELD", 'The language is not a BCP 47 tag such as "en" or "ru".')
    if metadata.year and metadata.year not in _YEARS:
        raise _refusal("year", "OUT_OF_RANGE", "The year must be 0 (unknown) or lie in 1800-2200.")
    start, end = metadata.effective_from, metadata.effective_until
    if start is not None and end is not None and end <= start:
        raise _refusal("effective_until", "OUT_OF_RANGE", "effective_until must lie after effective_from.")
    if len(metadata.supersedes) > MAX_SUPERSEDES:
        raise _refusal(
            "supersedes", "OUT_OF_RANGE", f"More than {MAX_SUPERSEDES} superseded documents.", MAX_SUPERSEDES
        )
    if not all(_DOCUMENT_ID.fullmatch(item) for item in metadata.supersedes):
        raise _refusal("supersedes", "INVALID_FIELD", "A superseded document id is not well formed.")


def check_document_id(document_id: str) -> None:
    """Refuses an id with other characters than A-Z a-z 0-9 . _ - or longer than 128.

    Raises:
        InvalidInput: INVALID_FIELD.
    """
    if not _DOCUMENT_ID.fullmatch(document_id):
        raise InvalidInput(
            "A document id has 1-128 characters of A-Z a-z 0-9 . _ -",
            reason="INVALID_FIELD",
            field="header.document_id",
        )


def _refusal(name: str, reason: str, message: str, limit: int | None = None) -> RadrefError:
    metadata = {} if limit is None else {"limit": str(limit)}
    return InvalidInput(message, reason=reason, field=f"header.metadata.{name}", metadata=metadata)


def _listed(topics: Collection[str]) -> str:
    return ", ".join(sorted(topics))
