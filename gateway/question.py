"""What counts as a question."""

from __future__ import annotations

import re
import unicodedata

from radref.errors import InvalidInput

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_NAMES = {"query": "question"}
_SPACES = re.compile(r"\s+")


def tidied(text: str) -> str:
    """The text with control characters and runs of white space turned into single spaces, NFC."""
    return _SPACES.sub(" ", _CONTROL.sub(" ", unicodedata.normalize("NFC", text))).strip()


def accepted_question(text: str, limit: int, *, field: str = "query") -> str:
    """The question, `tidied`.

    Args:
        text: as the caller sent it.
        limit: longest accepted question, characters.
        field: name of its field in the request.

    Raises:
        InvalidInput: EMPTY_TEXT (no letter or digit), TEXT_TOO_LONG.
    """
    if len(text) > limit:
        raise InvalidInput(
            f"the {_NAMES.get(field, field)} has {len(text)} characters; at most {limit} are accepted",
            reason="TEXT_TOO_LONG",
            field=field,
            metadata={"limit": str(limit)},
        )
    question = tidied(text)
    if not any(character.isalnum() for character in question):
        raise InvalidInput(
            f"the {_NAMES.get(field, field)} is empty: type at least one word",
            reason="EMPTY_TEXT",
            field=field,
        )
    return question
