"""What counts as a question."""

from __future__ import annotations

import re
import unicodedata

from radref.errors import InvalidInput

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_SPACES = re.compile(r"\s+")


def tidied(text: str) -> str:
    """The text with control characters and runs of white space turned into single spaces, NFC."""
    return _SPACES.sub(" ", _CONTROL.sub(" ", unicodedata.normalize("NFC", text))).strip()


def accepted_question(text: str, limit: int) -> str:
    """The question, `tidied`.

    Args:
        text: as the caller sent it.
        limit: longest accepted question, characters.

    Raises:
        InvalidInput: EMPTY_TEXT (no letter or digit), TEXT_TOO_LONG.
    """
    if len(text) > limit:
        raise InvalidInput(
            f"the question has {len(text)} characters; at most {limit} are accepted",
            reason="TEXT_TOO_LONG",
            field="query",
            metadata={"limit": str(limit)},
        )
    question = tidied(text)
    if not any(character.isalnum() for character in question):
        raise InvalidInput(
            "the question is empty: type at least one word", reason="EMPTY_TEXT", field="query"
        )
    return question
