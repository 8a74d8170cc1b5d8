"""Messages of a newer release: protobuf skips fields it does not know, which is wrong where they restrict."""

from __future__ import annotations

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from radref.errors import InvalidInput


def refuse_unknown_filters(filters: Message) -> None:
    """A filter that is left out would let the answer be of other documents than those that were asked for.

    Raises:
        InvalidInput: UNKNOWN_FILTER, when `filters` holds a field that this release does not know.
    """
    unknown = UnknownFieldSet(filters)
    if len(unknown):
        raise InvalidInput(
            f"the filters hold a field that this release does not know (number {unknown[0].field_number})",
            reason="UNKNOWN_FILTER",
            field="filters",
        )
