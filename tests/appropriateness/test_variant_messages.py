"""Variants as messages: nothing is lost, and a bad field is named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from radref.appropriateness.messages import variant_from_proto, variant_to_proto
from radref.appropriateness.model import Criteria, RadiationLevel, Urgency, Variant
from radref.errors import InvalidInput
from tests.appropriateness.variant_texts import a_variant, variants


@settings(max_examples=40, deadline=None)
@given(variants)
def test_round_trip(variant: Variant) -> None:
    assert variant_from_proto(variant_to_proto(variant)) == variant


@pytest.mark.parametrize("urgency", Urgency)
@pytest.mark.parametrize("level", RadiationLevel)
def test_every_value_has_a_number(urgency: Urgency, level: RadiationLevel) -> None:
    given = a_variant(urgency=urgency)
    given = replace(
        given, procedures=tuple(replace(item, radiation_level=level) for item in given.procedures)
    )
    assert variant_from_proto(variant_to_proto(given)) == given


def test_texts_are_tidied() -> None:
    message = variant_to_proto(a_variant())
    message.narrative = " A fracture\n is  looked for first. \n"
    assert variant_from_proto(message) == a_variant()


@pytest.mark.parametrize(
    ("changes", "field", "reason"),
    [
        ({"id": ""}, "variant.id", "EMPTY_TEXT"),
        ({"id": "A"}, "variant.id", "INVALID_FIELD"),
        ({"title": "t" * 501}, "variant.title", "TEXT_TOO_LONG"),
        ({"title": "a\u200bb"}, "variant.title", "INVALID_FIELD"),
        ({"population": "Some adults"}, "variant.population", "INVALID_FIELD"),
        ({"criteria": Criteria()}, "variant.all_criteria", "INVALID_FIELD"),
        ({"criteria": Criteria(all=("a", "b"), none=("B",))}, "variant.all_criteria[1]", "INVALID_FIELD"),
        ({"criteria": Criteria(any=("a",), assume=("",))}, "variant.assumed[0]", "EMPTY_TEXT"),
        ({"keywords": ("k",) * 201}, "variant.keywords", "OUT_OF_RANGE"),
        ({"keywords": ("k" * 201,)}, "variant.keywords[0]", "TEXT_TOO_LONG"),
        ({"criteria": Criteria(all=("c" * 499,) * 100, any=("a" * 500,) * 100)}, "variant", "TEXT_TOO_LONG"),
        ({"procedures": ()}, "variant.procedures", "OUT_OF_RANGE"),
        ({"procedures": a_variant().procedures * 51}, "variant.procedures", "OUT_OF_RANGE"),
        ({"procedures": a_variant().procedures * 2}, "variant.procedures[2].id", "INVALID_FIELD"),
    ],
)
def test_a_bad_field_is_named(changes: dict[str, object], field: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        variant_from_proto(variant_to_proto(a_variant(**changes)))
    assert (refused.value.field, refused.value.reason) == (field, reason)


def test_numbers_out_of_range_are_refused() -> None:
    message = variant_to_proto(a_variant())
    message.procedures[1].rating = 10
    with pytest.raises(InvalidInput, match="ratings are 1 to 9") as refused:
        variant_from_proto(message)
    assert (refused.value.field, refused.value.reason) == ("variant.procedures[1].rating", "OUT_OF_RANGE")


@pytest.mark.parametrize("field", ["urgency", "radiation_level"])
def test_a_value_that_is_not_set_is_refused(field: str) -> None:
    message = variant_to_proto(a_variant())
    where = message if field == "urgency" else message.procedures[0]
    where.ClearField(field)
    with pytest.raises(InvalidInput, match="is not set") as refused:
        variant_from_proto(message)
    assert refused.value.field.endswith(field)
