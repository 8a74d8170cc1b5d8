from __future__ import annotations

from dataclasses import replace

import pytest

from radref.errors import InvalidInput
from retrieval_svc.model import Filters, Leg
from retrieval_svc.profiles import DEFAULT, PAPER
from retrieval_svc.query import Limits, Query, plan
from tests.retrieval.retrieval_kit import TOPICS


def test_defaults() -> None:
    planned = plan(Query("dose?"), TOPICS, DEFAULT)
    assert planned.legs == (Leg.DENSE, Leg.BM25)
    assert planned.topics == ("safety", "physics", "glossary")
    assert planned.profile == DEFAULT


def test_limits_override_the_profile() -> None:
    planned = plan(Query("dose?", limits=Limits(per_collection=300, parents=100)), TOPICS, PAPER)
    assert (planned.profile.per_collection, planned.profile.parents) == (300, 100)
    assert planned.profile.leg_depth == 300
    assert planned.profile.candidates == PAPER.candidates


def test_consult_only_by_name() -> None:
    assert plan(Query("dose?", topics=("consult",)), TOPICS, DEFAULT).topics == ("consult",)


def test_when_variants_are_ranked_by_okapi() -> None:
    named = replace(TOPICS, appropriateness="glossary")
    for topics, legs, searched, okapi in (
        (("consult",), (), TOPICS, True),
        (("consult", "consult"), (Leg.BM25,), TOPICS, True),
        (("consult",), (Leg.DENSE,), TOPICS, False),
        (("consult",), (Leg.BM25, Leg.DENSE), TOPICS, False),
        (("consult", "safety"), (), TOPICS, False),
        ((), (), TOPICS, False),
        (("glossary",), (), named, True),
        (("consult",), (), named, False),
    ):
        query = Query("dose?", topics=topics, legs=legs)
        planned = plan(query, searched, PAPER)
        assert planned.okapi == okapi
        assert planned.legs == ((Leg.BM25,) if okapi else legs or tuple(Leg))
        assert not plan(query, searched, DEFAULT).okapi


@pytest.mark.parametrize(
    ("query", "reason", "field"),
    [
        (Query(" \n"), "EMPTY_TEXT", "query"),
        (Query("x" * 20_001), "TEXT_TOO_LONG", "query"),
        (Query("x", topics=("cardiology",)), "UNKNOWN_TOPIC", "filters.topics"),
        (Query("x", limits=Limits(parents=1001)), "OUT_OF_RANGE", "limits.parents"),
        (Query("x", limits=Limits(candidates=5001)), "OUT_OF_RANGE", "limits.candidates"),
        (Query("x", limits=Limits(per_collection=1001)), "OUT_OF_RANGE", "limits.per_collection"),
        (Query("x", filters=Filters(year_from=1700)), "OUT_OF_RANGE", "filters.year_from"),
        (Query("x", filters=Filters(year_from=2010, year_to=2000)), "OUT_OF_RANGE", "filters.year_from"),
        (Query("x", filters=Filters(languages=("",))), "INVALID_FIELD", "filters.languages"),
        (Query("x", filters=Filters(document_ids=("d",) * 1001)), "OUT_OF_RANGE", "filters.document_ids"),
    ],
)
def test_refused(query: Query, reason: str, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        plan(query, TOPICS, DEFAULT)
    assert (caught.value.reason, caught.value.field) == (reason, field)


def test_unknown_topic_names_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="safety, physics, glossary, consult"):
        plan(Query("x", topics=("cardiology",)), TOPICS, DEFAULT)
