"""Citation ids that users send back."""

from __future__ import annotations

import re

from radref.errors import InvalidInput

_CITATION_ID = re.compile(r"[0-9a-f]{20}")


def is_citation_id(value: str) -> bool:
    """Whether the value has the form of a citation id, as services write it."""
    return _CITATION_ID.fullmatch(value) is not None


def accepted_citation_id(value: str) -> str:
    """The id without surrounding space or brackets, lower case.

    Raises:
        InvalidInput: INVALID_FIELD, it does not have the form of a citation id.
    """
    citation_id = value.strip().strip("[]").strip().lower()
    if not is_citation_id(citation_id):
        raise InvalidInput("a citation id has 20 hexadecimal digits, as answers show it", field="citation_id")
    return citation_id
