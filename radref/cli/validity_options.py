"""The options that say when a document is in force."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer
from google.protobuf.timestamp_pb2 import Timestamp

from radref.api.common.v1 import documents_pb2
from radref.errors import InvalidInput

EffectiveFrom = Annotated[
    str, typer.Option("--effective-from", metavar="DATE", help="In force from this moment (ISO 8601, UTC).")
]
EffectiveUntil = Annotated[
    str, typer.Option("--effective-until", metavar="DATE", help="In force until this moment (ISO 8601, UTC).")
]


def set_validity(metadata: documents_pb2.DocumentMetadata, start: str, end: str) -> None:
    """Writes both moments into `metadata`; an empty one is left as it is.

    Args:
        start, end: ISO 8601 date or time; without a zone UTC, a date means its start.

    Raises:
        InvalidInput: INVALID_FIELD, a date cannot be read.
    """
    if start:
        metadata.effective_from.CopyFrom(_stamp("--effective-from", start))
    if end:
        metadata.effective_until.CopyFrom(_stamp("--effective-until", end))


def _stamp(option: str, text: str) -> Timestamp:
    try:
        time = datetime.fromisoformat(text)
        # Near the years 1 and 9999 a zone can lead out of the calendar.
        time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(f"{option} is a date such as 2026-03-01, or 2026-03-01T12:00+03:00") from None
    stamp = Timestamp()
    stamp.FromDatetime(time)
    return stamp
