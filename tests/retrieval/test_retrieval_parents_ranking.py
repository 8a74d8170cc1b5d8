"""Parents ranked by themselves. No store."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_svc.model import Child, Hit, ParentHit, ParentKey, ParentPlace
from retrieval_svc.parents_ranking import ParentPool
from retrieval_svc.profiles import DEFAULT, PAPER, Fusion, RankingUnit
from retrieval_svc.ranking import WeightedLeg, convex_scores

ALONE = replace(DEFAULT, document_weight=0.0)


def place(name: str, document: str = "", text: str = "") -> ParentPlace:
    return ParentPlace(ParentKey("s", name), document or f"doc of {name}", "safety", text or name)


def dense(name: str, score: float, *, ordinal: int = 0, document: str = "", text: str = "") -> Hit:
    where = place(name, document, text)
    return Hit(Child(where.key, where.document_id, ordinal, 0, 9, (), where.parent_text), score)


def names(pool: ParentPool, profile: object = ALONE) -> list[str]:
    return [one.key.citation_id for one in pool.rank(profile, lambda document: True).parents]  # type: ignore[arg-type]


def test_convex_by_hand() -> None:
    scores = convex_scores(
        [
            WeightedLeg(3.0, {"a": 0.9, "b": 0.7, "c": 0.5}),
            WeightedLeg(1.0, {"b": 8.0, "c": 4.0}, lowest=0.0),
        ]
    )
    assert scores == pytest.approx({"a": 3 / 4, "b": (1.5 + 1) / 4, "c": 0.5 / 4})


def test_a_leg_without_a_say() -> None:
    scores = convex_scores(
        [WeightedLeg(3.0, {"a": 0.9, "b": 0.5}, absent_counts=False), WeightedLeg(1.0, {"c": 4.0})]
    )
    assert scores == pytest.approx({"a": 3 / 4, "b": 0.0, "c": 1.0})
    assert convex_scores([WeightedLeg(1.0, {}), WeightedLeg(2.0, {"x": 5.0})]) == {"x": 1.0}
    assert convex_scores([]) == {}


@given(
    st.dictionaries(st.integers(0, 9), st.floats(-1, 1)), st.dictionaries(st.integers(0, 9), st.floats(0, 50))
)
def test_convex_is_bounded_and_complete(left: dict[int, float], right: dict[int, float]) -> None:
    scores = convex_scores([WeightedLeg(0.6, left, absent_counts=False), WeightedLeg(0.4, right, lowest=0.0)])
    assert set(scores) == {*left, *right}
    assert all(0 <= score <= 1 + 1e-9 for score in scores.values())


def test_the_best_child_speaks_for_its_parent() -> None:
    pool = ParentPool(lambda stage: 0.0)
    pool.add_dense({"safety": [dense("a", 0.6), dense("a", 0.9, ordinal=1), dense("b", 0.8)]})
    ranked = pool.rank(ALONE, lambda document: True).parents
    assert [one.key.citation_id for one in ranked] == ["a", "b"]
    assert ranked[0].dense_score == 0.9
    assert [one.child.ordinal for one in ranked[0].children] == [1, 0]
    assert ranked[0].bm25_score is None


def test_pool_knows_what_is_missing() -> None:
    pool = ParentPool(lambda stage: 0.0)
    pool.add_dense({"safety": [dense("a", 0.6), dense("b", 0.5)]})
    pool.add_bm25([ParentHit(place("b"), 3.0), ParentHit(place("c"), 2.0)])
    assert pool.without_dense() == {"safety": [ParentKey("s", "c")]}
    assert pool.without_bm25() == [ParentKey("s", "a")]
    pool.keep_best(1)
    assert len(pool) == 2
    assert set(names(pool)) == {"a", "b"}


def test_repeated_texts_take_one_place_of_the_pool() -> None:
    pool = ParentPool(lambda stage: 0.0)
    pool.add_dense({"safety": [dense(f"x{number}", 0.9, text="same") for number in range(5)]})
    pool.add_dense({"safety": [dense("y", 0.5), dense("z", 0.4)]})
    pool.keep_best(2)
    ranking = pool.rank(ALONE, lambda document: document == "doc of x3")
    assert [one.key.citation_id for one in ranking.parents] == ["x3", "y"]
    assert len(ranking.duplicates[ParentKey("s", "x3")]) == 4


def test_other_parents_of_a_document_support_it() -> None:
    pool = ParentPool(lambda stage: 0.0)
    pool.add_dense({"safety": [dense("lone", 0.80), dense("low", 0.1)]})
    pool.add_dense(
        {"safety": [dense(f"m{number}", 0.79 - number / 100, document="many") for number in range(3)]}
    )
    assert names(pool)[0] == "lone"
    assert names(pool, replace(ALONE, document_weight=0.5))[0] == "lone"
    pool.add_bm25([ParentHit(place("m0", "many"), 1.0), ParentHit(place("m1", "many"), 1.0)])
    assert names(pool, replace(ALONE, document_weight=0.5))[:2] == ["m0", "m1"]


def test_centre_is_subtracted() -> None:
    pool = ParentPool(lambda stage: 0.3 if stage == "s" else 0.0)
    other = dense("b", 0.7)
    other = replace(other, child=replace(other.child, parent=ParentKey("other", "b")))
    pool.add_dense({"safety": [dense("a", 0.9), other]})
    assert names(pool) == ["b", "a"]


def test_reciprocal_ranks_of_parents() -> None:
    pool = ParentPool(lambda stage: 0.0)
    pool.add_dense({"safety": [dense("a", 0.9), dense("b", 0.8)]})
    pool.add_bm25([ParentHit(place("b"), 3.0), ParentHit(place("c"), 2.0)])
    ranked = pool.rank(replace(ALONE, fusion=Fusion.RRF), lambda document: True).parents
    assert [one.key.citation_id for one in ranked] == ["b", "a", "c"]
    assert ranked[0].score == pytest.approx(1 / 62 + 1 / 61)


@pytest.mark.parametrize(
    "wrong",
    [
        {"fusion": Fusion.CONVEX},
        {"bm25_over": RankingUnit.PARENTS},
        {"language_centring": True},
        {"document_weight": 0.5},
        {"unit": RankingUnit.PARENTS},
    ],
)
def test_profiles_that_do_not_exist(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="unit"):
        replace(PAPER, **wrong)  # type: ignore[arg-type]
