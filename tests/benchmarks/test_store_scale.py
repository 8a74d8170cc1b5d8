"""The benchmark of the store: its synthetic corpus, its exact search, and one small run from end to end."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.store_scale.exact import Best, row_recall, score_recall
from benchmarks.store_scale.report import Results, markdown_table, result_row
from benchmarks.store_scale.run import Setting, SizeResult, run_size
from benchmarks.store_scale.seeds import SeedChild, SeedDocument, SeedParent, SeedQuestion, Seeds
from benchmarks.store_scale.synthetic import SyntheticCorpus, in_proportion, noise_deviation
from benchmarks.store_scale.zipf import ZipfLaw, fit, term_ids

DIMENSION = 48
LAW = ZipfLaw(exponent=1.1, shift=5, vocabulary=400)


def unit(rng: np.random.Generator) -> np.ndarray:
    vector = rng.standard_normal(DIMENSION).astype(np.float32)
    return vector / np.linalg.norm(vector)


def seeds() -> Seeds:
    rng = np.random.default_rng(1)
    documents = []
    for topic, languages, parents in (("safety", ("en", "ru"), 4), ("glossary", ("en",), 1)):
        for language in languages:
            found = []
            for _ in range(parents):
                children = tuple(
                    SeedChild(0, 10, ("A",), unit(rng), rng.random(12).astype(np.float32) + 0.5)
                    for _ in range(3)
                )
                found.append(SeedParent("The text of a parent.", ("A",), 25, children))
            documents.append(SeedDocument(topic, language, "web", 2024, tuple(found)))
    questions = tuple(SeedQuestion(unit(rng), 4) for _ in range(5))
    return Seeds(tuple(documents), questions, tuple(range(1, 300)), 0.9)


def corpus(children: int, seed: int = 3) -> SyntheticCorpus:
    return SyntheticCorpus(seeds(), LAW, children=children, cosine=0.9, seed=seed)


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(0, LAW.vocabulary))
def test_terms_are_distinct_bounded_and_the_same_for_a_seed(seed: int, count: int) -> None:
    ranks = LAW.distinct(np.random.default_rng(seed), count)
    assert len(set(ranks.tolist())) == count
    assert all(0 <= rank < LAW.vocabulary for rank in ranks)
    assert (ranks == LAW.distinct(np.random.default_rng(seed), count)).all()


def test_more_distinct_terms_than_the_vocabulary_has_are_refused() -> None:
    with pytest.raises(ValueError, match="401 distinct terms"):
        LAW.distinct(np.random.default_rng(0), LAW.vocabulary + 1)


def test_frequent_terms_are_drawn_as_often_as_the_law_says() -> None:
    rng = np.random.default_rng(0)
    counts = np.bincount(
        np.concatenate([LAW.distinct(rng, 1) for _ in range(5000)]), minlength=LAW.vocabulary
    )
    assert counts[:5] / 5000 == pytest.approx(LAW.probabilities[:5], rel=0.25)


def test_term_ids_are_distinct() -> None:
    ids = term_ids(np.arange(100_000))
    assert len(np.unique(ids)) == 100_000
    assert ids.min() >= 0
    assert ids.max() < 2**31


def test_the_fit_finds_a_law_again() -> None:
    law = ZipfLaw(exponent=1.2, shift=10, vocabulary=3000)
    rng = np.random.default_rng(0)
    frequencies = np.zeros(law.vocabulary, dtype=int)
    for _ in range(3000):
        frequencies[law.distinct(rng, 20)] += 1
    found = fit([int(count) for count in frequencies if count], 3000)
    assert found.exponent == pytest.approx(1.2, abs=0.15)
    assert found.probabilities[:100] == pytest.approx(law.probabilities[:100], rel=0.3)
    assert found.vocabulary == pytest.approx(3000, rel=0.2)


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 5000), min_size=1), st.integers(0, 1_000_000)
)
def test_shares_are_whole_sum_up_and_are_in_proportion(counts: dict[str, int], total: int) -> None:
    shares = in_proportion(counts, total)
    assert sum(shares.values()) == total
    for name, count in counts.items():
        assert abs(shares[name] - total * count / sum(counts.values())) < 1


def test_the_corpus_has_the_wanted_size_and_rows_without_gaps() -> None:
    made = corpus(100)
    assert [place.number for place in made.places] == list(range(len(made.places)))
    row = parent = 0
    by_topic: dict[str, int] = {}
    for place in made.places:
        assert (place.first_child, place.first_parent) == (row, parent)
        row += place.children
        parent += len(place.parents)
        by_topic[place.seed.topic] = by_topic.get(place.seed.topic, 0) + place.children
        assert len(made.vectors(place)) == len(made.child_terms(place)) == place.children
    assert by_topic == {"safety": 89, "glossary": 11}


def test_copies_are_as_near_as_wanted_and_differ() -> None:
    made = corpus(3000)
    cosines = []
    for place in made.places:
        originals = np.stack([child.vector for parent in place.parents for child in parent.children])
        vectors = made.vectors(place)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
        cosines += (originals * vectors).sum(axis=1).tolist()
    assert np.mean(cosines) == pytest.approx(0.9, abs=0.01)
    assert max(cosines) < 0.999


def test_a_seed_gives_the_same_corpus_and_another_one_another() -> None:
    one, same, other = corpus(50), corpus(50), corpus(50, seed=4)
    place = one.places[0]
    assert (one.vectors(place) == same.vectors(same.places[0])).all()
    assert not np.allclose(one.vectors(place)[0], other.vectors(place)[0])
    for terms, again in zip(one.parent_terms(place), same.parent_terms(place), strict=True):
        assert (terms.ranks == again.ranks).all()
        assert (terms.weights == again.weights).all()
    assert one.questions(7)[6].ranks.tolist() == same.questions(7)[6].ranks.tolist()


def test_no_noise_leaves_a_vector_as_it_is() -> None:
    assert noise_deviation(1.0, 384) == 0.0


def test_the_best_of_a_stream_are_those_of_the_whole() -> None:
    scores = np.random.default_rng(0).random((3, 500)).astype(np.float32)
    best = Best(3)
    for start in range(0, 500, 60):
        best.add(scores[:, start : start + 60], start)
    expected = np.argsort(-scores, axis=1)[:, :10]
    assert [set(rows) for rows in best.rows.tolist()] == [set(rows) for rows in expected.tolist()]


def test_recall_counts_what_of_the_exact_ten_was_found() -> None:
    exact = np.array([[1, 2, 3, 4], [5, 6, -1, -1]])
    assert row_recall([[4, 3, 9, 8], [5, 6, 7]], exact) == pytest.approx((0.5 + 1.0) / 2)


def test_equal_scores_stand_for_each_other() -> None:
    assert score_recall([(3.0, 2.0, 2.0), ()], [[3.0, 2.0, 2.0], []]) == 1.0
    assert score_recall([(3.0, 1.0)], [[3.0, 2.0]]) == 0.5


def test_a_small_run_from_end_to_end(tmp_path: Path) -> None:
    setting = Setting(seeds(), LAW, 0.9, questions=5, warm_up=1, real_time=False, seed=3)
    kept = tmp_path / "setting.pickle"
    kept.write_bytes(pickle.dumps(setting))
    notes: list[str] = []
    result = run_size(kept, 300, tmp_path, notes.append)
    assert (result.built.children, result.built.by_topic) == (300, {"glossary": 33, "safety": 267})
    assert result.measured.default.questions == result.measured.paper.questions == 5
    # Three cells and the parents, then what each leg lacks.
    assert 4 < result.measured.default.searches <= 7
    assert result.measured.paper.searches == 4
    assert result.measured.asked.total > 0
    # Nothing of this size has a graph: every search is exact.
    recall = result.recall
    assert (recall.dense, recall.whole, recall.parents, recall.children) == (1.0, 1.0, 1.0, 1.0)
    assert list(tmp_path.iterdir()) == [kept]
    assert notes
    _check_report(result, tmp_path / "results.json")


def _check_report(result: SizeResult, path: Path) -> None:
    results = Results.load(path)
    results.add(result_row(result))
    results.add(result_row(result))
    results.save(path)
    again = Results.load(path)
    assert [row["children"] for row in again.sizes] == [300]
    table = markdown_table(again.sizes).splitlines()
    assert len(table) == 3
    assert len({line.count("|") for line in table}) == 1
