"""Marks of list pages as opaque tokens."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime

from ingest_svc.registry.documents import DocumentMark
from radref.errors import InvalidInput

DEFAULT_PAGE_SIZE = 100
MAX_PAGE_SIZE = 1000


def page_size(asked: int) -> int:
    """Entries a page, 1-1000; 0 = 100.

    Raises:
        InvalidInput: OUT_OF_RANGE.
    """
    if asked > MAX_PAGE_SIZE:
        raise InvalidInput(
            f"A page has at most {MAX_PAGE_SIZE} entries.",
            reason="OUT_OF_RANGE",
            field="page_size",
            metadata={"limit": str(MAX_PAGE_SIZE)},
        )
    return asked or DEFAULT_PAGE_SIZE


def document_token(mark: DocumentMark | None) -> str:
    """Token of a place in the list of documents; "" = no further page."""
    return "" if mark is None else _encode(f"d|{mark.updated_at.isoformat()}|{mark.document_id}")


def document_mark(token: str) -> DocumentMark | None:
    """The place a token stands for; None = first page.

    Raises:
        InvalidInput: INVALID_FIELD, the token was not made here.
    """
    if not token:
        return None
    kind, _, rest = _decode(token).partition("|")
    time, _, document_id = rest.partition("|")
    try:
        updated_at = datetime.fromisoformat(time)
    except ValueError:
        raise _unknown_token() from None
    if kind != "d" or updated_at.tzinfo is None or not document_id:
        raise _unknown_token()
    return DocumentMark(updated_at.astimezone(UTC), document_id)


def event_token(mark: int | None) -> str:
    """Token of a place in the audit trail; "" = no further page."""
    return "" if mark is None else _encode(f"e|{mark}")


def event_mark(token: str) -> int | None:
    """The place a token stands for; None = first page.

    Raises:
        InvalidInput: INVALID_FIELD, the token was not made here.
    """
    if not token:
        return None
    kind, _, number = _decode(token).partition("|")
    if kind != "e" or not number.isascii() or not number.isdigit() or len(number) > 18:
        raise _unknown_token()
    return int(number)


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode("ascii")


def _decode(token: str) -> str:
    try:
        return base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True).decode("utf-8")
    except (binascii.Error, UnicodeError):
        raise _unknown_token() from None


def _unknown_token() -> InvalidInput:
    return InvalidInput(
        "The page token is unknown; pass the one of the page before.",
        reason="INVALID_FIELD",
        field="page_token",
    )
