"""What the gateway reads from messages, and what it refuses."""

from __future__ import annotations

import pytest

from gateway.messages import filters_from
from radref.api.common.v1 import documents_pb2
from radref.errors import InvalidInput


def test_filters() -> None:
    message = documents_pb2.SearchFilters(topics=["safety"], languages=["ru"], year_from=2010)
    filters = filters_from(message)
    assert (filters.topics, filters.languages, filters.year_from) == (("safety",), ("ru",), 2010)


def test_a_filter_of_a_newer_release_is_refused() -> None:
    message = documents_pb2.SearchFilters.FromString(b"\xfa\x01\x03abc")
    with pytest.raises(InvalidInput) as caught:
        filters_from(message)
    assert caught.value.reason == "UNKNOWN_FILTER"
    assert "31" in caught.value.message
