"""Which embedders are described."""

from __future__ import annotations

from typing import Any, cast

import pytest

from inference_svc.embedders.embedder import Embedder, EmbedderDescription
from inference_svc.models import embedder_descriptions
from radref.errors import Unavailable


class Described:
    """An embedder as far as it is described; None = it never answered."""

    def __init__(self, description: str | None) -> None:
        self._description = description

    @property
    def description(self) -> EmbedderDescription:
        if self._description is None:
            raise Unavailable("never answered", reason="NOT_READY")
        return cast(EmbedderDescription, self._description)


def described(*descriptions: str | None) -> list[Any]:
    return embedder_descriptions([cast(Embedder, Described(one)) for one in descriptions])


def test_the_default_comes_first_and_a_silent_other_is_left_out() -> None:
    assert described("a", None, "b") == ["a", "b"]


def test_no_other_takes_the_place_of_a_silent_default() -> None:
    with pytest.raises(Unavailable):
        described(None, "b")


def test_a_service_without_embedders_describes_none() -> None:
    assert described() == []
