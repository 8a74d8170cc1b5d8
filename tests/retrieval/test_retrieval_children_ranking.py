from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrieval_svc.children_ranking import LegHits, parents_of, score_children
from retrieval_svc.model import Child, Hit, Leg, ParentKey
from retrieval_svc.profiles import Fusion
from retrieval_svc.ranking import FusedChild, cut_children, rrf_scores

RRF = st.sampled_from([Fusion.RRF_COLLECTION, Fusion.RRF])
TOPICS = ("safety", "physics", "anatomy")

# How long an example takes to draw says something of the machine, not of the code.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def child(topic: str, parent: int, ordinal: int = 0) -> Child:
    return Child(
        ParentKey("s", f"{topic}-{parent}"), f"doc-{topic}", ordinal, 0, 10, (), f"text {topic} {parent}"
    )


def fuse(
    hits: LegHits, *, fusion: Fusion, rrf_k: int, per_collection: int, candidates: int
) -> list[FusedChild]:
    scored = score_children(hits, fusion=fusion, rrf_k=rrf_k)
    return cut_children(scored, per_collection=per_collection, candidates=candidates)


@st.composite
def leg_hits(draw: st.DrawFn) -> LegHits:
    hits: dict[tuple[str, Leg], list[Hit]] = {}
    for topic in TOPICS:
        for leg in Leg:
            places = draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), unique=True, max_size=16))
            hits[topic, leg] = [
                Hit(child(topic, parent, ordinal), draw(st.sampled_from([0.1, 0.2, 0.5, 0.9])))
                for parent, ordinal in places
            ]
    return hits


def test_rrf_formula() -> None:
    scores = rrf_scores([["a", "b"], ["b", "c"]], k=60)
    assert scores == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62})


@unhurried
@given(leg_hits(), RRF, st.integers(1, 15), st.integers(1, 90))
def test_fuse_invariants(hits: LegHits, fusion: Fusion, per_collection: int, candidates: int) -> None:
    fused = fuse(hits, fusion=fusion, rrf_k=60, per_collection=per_collection, candidates=candidates)
    everything = {hit.child for found in hits.values() for hit in found}
    children = [one.child for one in fused]
    assert len(children) == len(set(children))
    assert set(children) <= everything
    assert len(fused) <= candidates
    for topic in TOPICS:
        mine = [one for one in fused if one.topic == topic]
        assert len(mine) <= per_collection
        if candidates >= len(everything):
            available = {hit.child for (name, _), found in hits.items() if name == topic for hit in found}
            assert len(mine) == min(per_collection, len(available))
    scores = [one.score for one in fused]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 2 / 61 + 1e-12 for score in scores)
    for one in fused:
        assert one.dense_score is not None or one.bm25_score is not None


@unhurried
@given(leg_hits(), RRF, st.randoms())
def test_order_of_input_does_not_matter(hits: LegHits, fusion: Fusion, random: object) -> None:
    shuffled = {}
    for key in sorted(hits, reverse=True):
        found = list(hits[key])
        random.shuffle(found)  # type: ignore[attr-defined]
        shuffled[key] = found
    arguments = {"fusion": fusion, "rrf_k": 60, "per_collection": 15, "candidates": 90}
    assert fuse(hits, **arguments) == fuse(shuffled, **arguments)  # type: ignore[arg-type]


def test_ranks_in_each_collection_or_over_all() -> None:
    """A collection's best hit ties with every other best hit, unless absolute scores are compared."""
    hits = {
        ("safety", Leg.BM25): [Hit(child("safety", 1), 9.0), Hit(child("safety", 2), 8.0)],
        ("physics", Leg.BM25): [Hit(child("physics", 1), 0.5)],
    }
    by_collection = fuse(hits, fusion=Fusion.RRF_COLLECTION, rrf_k=60, per_collection=15, candidates=90)
    assert by_collection[0].score == by_collection[1].score
    overall = fuse(hits, fusion=Fusion.RRF, rrf_k=60, per_collection=15, candidates=90)
    assert [one.bm25_score for one in overall] == [9.0, 8.0, 0.5]


@unhurried
@given(leg_hits(), st.integers(1, 13))
def test_parents(hits: LegHits, wanted: int) -> None:
    fused = fuse(hits, fusion=Fusion.RRF, rrf_k=60, per_collection=15, candidates=90)
    filled = parents_of(fused, parents=wanted, fill=True)
    strict = parents_of(fused, parents=wanted, fill=False)
    different = len({one.child.parent for one in fused})
    assert len(filled) == min(wanted, different)
    assert len(strict) == len({one.child.parent for one in fused[:wanted]})
    assert [parent.key for parent in strict] == [parent.key for parent in filled][: len(strict)]
    for parent in filled:
        assert parent.score == max(one.score for one in parent.children)
        assert all(one.child.parent == parent.key for one in parent.children)
    assert sorted((p.score for p in filled), reverse=True) == [p.score for p in filled]


def test_nothing_found() -> None:
    assert fuse({}, fusion=Fusion.RRF, rrf_k=60, per_collection=15, candidates=90) == []
    assert parents_of([], parents=13, fill=True) == []
