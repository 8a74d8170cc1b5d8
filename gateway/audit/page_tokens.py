"""Places in lists that are sorted by time, as opaque tokens. Pure."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, datetime

from radref.errors import InvalidInput

DEFAULT_PAGE_SIZE = 100
MAX_PAGE_SIZE = 1000
# 18 digits fit into the database's 64 bits.
_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Mark:
    """The last row of a page; the next page begins after it."""

    at: datetime
    row: int


def page_size(asked: int) -> int:
    """Entries a page, 1-1000; 0 = 100.

    Raises:
        InvalidInput: OUT_OF_RANGE.
    """
    if asked > MAX_PAGE_SIZE:
        raise InvalidInput(
            f"a page has at most {MAX_PAGE_SIZE} entries",
            reason="OUT_OF_RANGE",
            field="page_size",
            metadata={"limit": str(MAX_PAGE_SIZE)},
        )
    return asked or DEFAULT_PAGE_SIZE


def token_of(kind: str, mark: Mark | None) -> str:
    """Token of a place; "" = no further page. `kind`: of the list, without "|"."""
    if mark is None:
        return ""
    plain = f"{kind}|{mark.at.astimezone(UTC).isoformat()}|{mark.row}"
    return base64.urlsafe_b64encode(plain.encode()).decode("ascii")


def mark_of(kind: str, token: str) -> Mark | None:
    """The place a token stands for; None = first page.

    Raises:
        InvalidInput: INVALID_FIELD, the token was not made for this list.
    """
    if not token:
        return None
    try:
        plain = base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True).decode("ascii")
        found, time, row = plain.split("|")
        mark = Mark(datetime.fromisoformat(time), int(row))
    except (binascii.Error, ValueError):
        mark = None
    if mark is None or found != kind or mark.at.tzinfo is None or not 0 < mark.row < 10**_MAX_DIGITS:
        raise InvalidInput("the page token is unknown; pass the one of the page before", field="page_token")
    return mark
