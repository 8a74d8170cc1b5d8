"""Reasons and comments that people give for the audit trail. Pure."""

from __future__ import annotations

from radref.errors import InvalidInput

MAX_REASON = 2000


def given_reason(text: str, *, field: str, missing: str) -> str:
    """The text without white space around it.

    Args:
        field: request field it came in.
        missing: what to tell who left it empty; "" = it may be empty.

    Raises:
        InvalidInput: EMPTY_TEXT, or TEXT_TOO_LONG beyond 2000 characters.
    """
    if len(text) > MAX_REASON:
        raise InvalidInput(
            f"The {field} is longer than {MAX_REASON} characters.",
            reason="TEXT_TOO_LONG",
            field=field,
            metadata={"limit": str(MAX_REASON)},
        )
    given = text.strip()
    if missing and not given:
        raise InvalidInput(missing, reason="EMPTY_TEXT", field=field)
    return given
