from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from radref.errors import InvalidInput, PreconditionFailed, Unavailable
from radref.service.metrics import DEGRADED
from retrieval_svc.model import Filters, Hit, Leg
from retrieval_svc.profiles import DEFAULT, PAPER, PROFILES
from retrieval_svc.query import Limits, Preview, Query
from retrieval_svc.retrieve import QueryEmbedding
from retrieval_svc.search import Search
from retrieval_svc.store.protocol import VectorStore
from tests.retrieval.retrieval_kit import FINGERPRINT, Kit, beside, open_kit, vector_of


async def library(kit: Kit) -> None:
    await kit.put(
        "limits", 1, ["The dose limit for workers is 20 mSv per year", "Lenses of the eye"], year=2014
    )
    await kit.put(
        "ru", 1, ["Предел дозы для персонала 20 мЗв в год", "Учёт доз облучения"], language="ru", year=2009
    )
    await kit.put("tube", 1, ["X-ray tube voltage and filtration"], topic="physics", source_category="web")
    await kit.put("words", 1, ["Sievert: unit of dose"], topic="glossary", year=2020)
    await kit.put("variant", 1, ["Chest pain, dose of CT"], topic="consult")


def documents(retrieval: object) -> list[str]:
    return [found.record.document_id for found in retrieval.parents]  # type: ignore[attr-defined]


async def test_answer(kit: Kit) -> None:
    await library(kit)
    retrieval = await kit.retriever.retrieve(Query("dose limit for workers per year", want_candidates=True))
    best = retrieval.parents[0]
    assert best.parent.text == "The dose limit for workers is 20 mSv per year"
    assert best.record.metadata.title == "About limits"
    assert best.parent.pages == (1, 1)
    assert best.ranked.children[0].child.end == len(best.parent.text)
    assert retrieval.embedder_fingerprint == FINGERPRINT
    assert set(retrieval.timings) == {"embed", "search", "parents", "store_compute"}
    assert {(report.leg, report.topic) for report in retrieval.legs} == {
        (leg, topic) for leg in Leg for topic in kit.topics.default
    }
    assert all(report.ok for report in retrieval.legs)
    assert "variant" not in documents(retrieval)
    signals = retrieval.signals
    assert signals.best_dense == max(
        one.dense_score for one in retrieval.candidates if one.dense_score is not None
    )
    assert signals.best_bm25 is not None
    assert signals.best_bm25 > 0
    assert signals.term_coverage == 1.0


async def test_russian(kit: Kit) -> None:
    await library(kit)
    retrieval = await kit.retriever.retrieve(Query("учет дозы облучения", legs=(Leg.BM25,)))
    assert retrieval.parents[0].parent.text == "Учёт доз облучения"
    assert retrieval.signals.best_dense is None
    assert retrieval.signals.term_coverage == 1.0
    assert "embed" not in retrieval.timings


async def test_term_coverage_is_a_share(kit: Kit) -> None:
    await library(kit)
    retrieval = await kit.retriever.retrieve(Query("tube voltage of a mammograph", legs=(Leg.BM25,)))
    assert retrieval.signals.term_coverage == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("topics", "filters", "expected"),
    [
        (("glossary",), Filters(), {"words"}),
        (("consult",), Filters(), {"variant"}),
        (("consult", "glossary"), Filters(), {"variant", "words"}),
        ((), Filters(languages=("ru",)), {"ru"}),
        ((), Filters(source_categories=("web",)), {"tube"}),
        ((), Filters(document_ids=("limits", "variant")), {"limits"}),
        ((), Filters(year_from=2010), {"limits", "words"}),
        ((), Filters(year_to=2014), {"limits", "ru"}),
        (("physics",), Filters(languages=("ru",)), set()),
    ],
)
async def test_filters(kit: Kit, topics: tuple[str, ...], filters: Filters, expected: set[str]) -> None:
    await library(kit)
    retrieval = await kit.retriever.retrieve(Query("dose", topics=topics, filters=filters))
    assert set(documents(retrieval)) == expected


async def test_unknown_topic(kit: Kit) -> None:
    with pytest.raises(InvalidInput) as caught:
        await kit.retriever.retrieve(Query("dose", topics=("oncology",)))
    assert caught.value.reason == "UNKNOWN_TOPIC"


async def test_empty_index(kit: Kit) -> None:
    retrieval = await kit.retriever.retrieve(Query("dose"))
    assert retrieval.parents == ()
    assert all(report.ok and report.hits == 0 for report in retrieval.legs)
    assert len(retrieval.legs) == 6
    assert retrieval.embedder_fingerprint == ""
    assert retrieval.signals.term_coverage == 0.0


async def test_limits(kit: Kit) -> None:
    await kit.put("many", 1, [f"dose number {number} " * 3 for number in range(30)], pieces=3)
    retrieval = await kit.retriever.retrieve(Query("dose number", want_candidates=True))
    assert len(retrieval.candidates) == 15
    limits = Limits(per_collection=60, parents=20)
    retrieval = await kit.retriever.retrieve(Query("dose number", want_candidates=True, limits=limits))
    assert len(retrieval.candidates) == 60
    assert len(retrieval.parents) == 20
    retrieval = await kit.retriever.retrieve(
        Query("dose number", want_candidates=True, limits=Limits(candidates=4))
    )
    assert len(retrieval.candidates) == 4


async def test_paper_takes_the_parents_of_the_best_children(kit: Kit) -> None:
    await kit.put("many", 1, [f"dose number {number} " * 3 for number in range(30)], pieces=3)
    paper = await beside(kit, profile=PAPER)
    retrieval = await paper.retriever.retrieve(Query("dose number", want_candidates=True))
    best = [one.child.parent for one in retrieval.candidates[:13]]
    assert [found.parent.key for found in retrieval.parents] == list(dict.fromkeys(best))


async def test_idf_counts_what_is_searched(kit: Kit) -> None:
    """The BM25 score of a passage depends neither on other versions nor on the collection it lies in."""

    async def score(kit: Kit) -> float:
        retrieval = await kit.retriever.retrieve(Query("filtration", legs=(Leg.BM25,)))
        best = retrieval.signals.best_bm25
        assert best is not None
        return best

    await library(kit)
    before = await score(kit)
    await kit.put("limits", 2, ["filtration " * 2] * 9, activate=False)
    assert await score(kit) == before
    await kit.put("chest", 1, ["filtration"], topic="consult")
    assert await score(kit) == before
    await kit.put("limits", 3, ["other words", "of no use"])
    await kit.put("limits", 1, ["The dose limit for workers is 20 mSv per year", "Lenses of the eye"])
    assert await score(kit) == pytest.approx(before)
    paper = await beside(kit, profile=PAPER)
    assert await score(paper) < before


async def failing_embed(text: str, fingerprint: str) -> QueryEmbedding:
    raise Unavailable("the inference service does not answer")


async def hanging_embed(text: str, fingerprint: str) -> QueryEmbedding:
    await asyncio.sleep(3600)
    raise AssertionError


@pytest.mark.parametrize("embed", [failing_embed, hanging_embed])
async def test_without_embedding_the_bm25_leg_answers(tmp_path: Path, embed: object) -> None:
    kit = await open_kit(tmp_path / "i", embed=embed)
    kit.retriever._embed_timeout = 0.05
    await library(kit)
    before = DEGRADED.labels(leg="dense")._value.get()
    retrieval = await kit.retriever.retrieve(Query("dose limit"))
    assert retrieval.parents
    assert {report.leg for report in retrieval.legs if not report.ok} == {Leg.DENSE}
    assert DEGRADED.labels(leg="dense")._value.get() == before + 1
    with pytest.raises(Unavailable):
        await kit.retriever.retrieve(Query("dose limit", legs=(Leg.DENSE,)))
    await kit.close()


async def test_question_of_another_model(tmp_path: Path) -> None:
    async def other(text: str, fingerprint: str) -> QueryEmbedding:
        return QueryEmbedding(vector_of(text), "0" * 16)

    kit = await open_kit(tmp_path / "i", embed=other)
    await library(kit)
    with pytest.raises(PreconditionFailed) as caught:
        await kit.retriever.retrieve(Query("dose"))
    assert caught.value.reason == "MODEL_FINGERPRINT_MISMATCH"
    await kit.close()


class PartlyFailingStore:
    """The real store with some searches failing."""

    def __init__(self, store: object, dense: set[str], sparse: set[str]) -> None:
        self._store, self._dense, self._sparse = store, dense, sparse

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def search_dense(self, topic: str, *args: object, **options: object) -> object:
        if topic in self._dense:
            raise Unavailable("no")
        return await self._store.search_dense(topic, *args, **options)  # type: ignore[attr-defined]

    async def search_sparse(self, topic: str, *args: object, **options: object) -> object:
        if topic in self._sparse:
            raise Unavailable("no")
        return await self._store.search_sparse(topic, *args, **options)  # type: ignore[attr-defined]

    async def search_parents(self, topics: Sequence[str], *args: object, **options: object) -> object:
        if self._sparse & set(topics):
            raise Unavailable("no")
        return await self._store.search_parents(topics, *args, **options)  # type: ignore[attr-defined]


async def test_a_failed_collection_is_reported_and_the_rest_answers(kit: Kit) -> None:
    await library(kit)
    partly = await beside(
        kit, lambda store: PartlyFailingStore(store, {"safety"}, {"safety", "physics"}), profile=PAPER
    )
    retrieval = await partly.retriever.retrieve(Query("dose"))
    assert {(report.leg, report.topic) for report in retrieval.legs if not report.ok} == {
        (Leg.DENSE, "safety"),
        (Leg.BM25, "safety"),
        (Leg.BM25, "physics"),
    }
    assert set(documents(retrieval)) == {"words", "tube"}


async def test_ranking_parents_does_without_a_leg_or_a_collection(kit: Kit) -> None:
    await library(kit)
    whole = await kit.retriever.retrieve(Query("dose limit for workers"))
    for dense, sparse, failed in (
        ({"safety"}, set(), {(Leg.DENSE, "safety")}),
        (set(), {"safety"}, {(Leg.BM25, topic) for topic in kit.topics.default}),
        (set(kit.topics.all), set(), {(Leg.DENSE, topic) for topic in kit.topics.default}),
    ):
        partly = await beside(kit, lambda store: PartlyFailingStore(store, dense, sparse))  # noqa: B023
        retrieval = await partly.retriever.retrieve(Query("dose limit for workers"))
        assert {(one.leg, one.topic) for one in retrieval.legs if not one.ok} == failed
        assert retrieval.parents[0].parent.key == whole.parents[0].parent.key


async def test_everything_failed(kit: Kit) -> None:
    await library(kit)
    everything = set(kit.topics.all)
    for profile in PROFILES.values():
        down = await beside(
            kit, lambda store: PartlyFailingStore(store, everything, everything), profile=profile
        )
        with pytest.raises(Unavailable):
            await down.retriever.retrieve(Query("dose"))


async def test_nothing_found_beside_a_failure_is_no_empty_answer(kit: Kit) -> None:
    """Topics without documents go well; that must not hide that the only one with documents failed."""
    await kit.put("limits", 1, ["The dose limit for workers"])
    down = await beside(kit, lambda store: PartlyFailingStore(store, {"safety"}, {"safety"}))
    with pytest.raises(Unavailable, match="found nothing"):
        await down.retriever.retrieve(Query("dose"))


class SlowStore(PartlyFailingStore):
    """The real store with dense searches of some topics that never come back."""

    async def search_dense(self, topic: str, *args: object, **options: object) -> object:
        if topic in self._dense:
            await asyncio.sleep(3600)
        return await self._store.search_dense(topic, *args, **options)  # type: ignore[attr-defined]


async def test_a_late_collection_is_left_out(kit: Kit) -> None:
    await library(kit)
    slow = await beside(kit, lambda store: SlowStore(store, {"physics"}, set()), search_timeout=0.2)
    before = DEGRADED.labels(leg="dense")._value.get()
    retrieval = await slow.retriever.retrieve(Query("dose limit"))
    assert {(one.leg, one.topic) for one in retrieval.legs if not one.ok} == {(Leg.DENSE, "physics")}
    assert retrieval.parents
    assert DEGRADED.labels(leg="dense")._value.get() == before + 1


async def test_bm25_is_searched_while_the_question_is_embedded(kit: Kit) -> None:
    await library(kit)
    searched = asyncio.Event()

    class Watched(PartlyFailingStore):
        async def search_parents(self, *args: object, **options: object) -> object:
            searched.set()
            return await self._store.search_parents(*args, **options)  # type: ignore[attr-defined]

    async def embed(text: str, fingerprint: str) -> QueryEmbedding:
        await searched.wait()
        return QueryEmbedding(vector_of(text), fingerprint, 7.0)

    watched = await beside(kit, lambda store: Watched(store, set(), set()), embed=embed)
    retrieval = await watched.retriever.retrieve(Query("dose limit"))
    assert retrieval.timings["embed_compute"] == 7.0


async def test_every_parent_has_both_scores(kit: Kit) -> None:
    """What one leg did not return by itself is asked for."""
    await kit.put("words", 1, [f"dose {'unit ' * number}" for number in range(30)])
    await kit.put("others", 1, ["dose of a patient", "nothing of the kind"], topic="glossary")
    small = await beside(kit, profile=replace(DEFAULT, leg_depth=1, pool=1))
    retrieval = await small.retriever.retrieve(Query("dose patient"))
    for found in retrieval.parents:
        assert found.ranked.dense_score is not None
        assert found.ranked.children
        assert found.ranked.bm25_score is not None


def _unit(vector: npt.NDArray[np.float64]) -> list[float]:
    return (vector / np.linalg.norm(vector)).tolist()  # type: ignore[no-any-return]


async def test_a_passage_in_another_language_can_be_first(kit: Kit) -> None:
    """Vectors of one language lie near each other; taking their mean out lets the matter decide."""
    axes = np.eye(32)
    russian, english, dose = axes[:3]
    question = _unit(3 * russian + 1.5 * dose)

    async def embed(text: str, fingerprint: str) -> QueryEmbedding:
        return QueryEmbedding(question, fingerprint)

    for language, own in (("ru", russian), ("en", english)):
        # Enough of them that the mean is the language's and not that of a few passages.
        vectors = [_unit(3 * own + axes[3 + number % 29]) for number in range(250)]
        texts = [f"{language} {number}" for number in range(250)]
        await kit.put_vectors(language, texts, vectors, language=language)
    await kit.put_vectors("answer", ["answer"], [_unit(3 * english + 1.5 * dose)], language="en")
    both = {}
    for centring in (False, True):
        profile = replace(DEFAULT, language_centring=centring, document_weight=0.0)
        asked = await beside(kit, profile=profile, embed=embed)
        both[centring] = documents(await asked.retriever.retrieve(Query("доза", legs=(Leg.DENSE,))))
    assert both[False][0] == "ru"
    assert both[True][0] == "answer"


async def test_a_preview_in_a_language_that_its_topic_does_not_have(kit: Kit) -> None:
    """The first document of a language must be found by both legs before anything of it is searched."""
    await kit.put("en", 1, ["dose limits"])
    await kit.put("de", 1, ["Dosisgrenzwerte"], language="de")
    await kit.put("first", 1, ["Предел дозы"], language="ru", activate=False)
    query = Query("предел дозы", legs=(Leg.DENSE,), preview=Preview("first", 1))
    assert documents(await kit.retriever.retrieve(query))[0] == "first"


@pytest.mark.parametrize(
    ("filters", "named"),
    [
        (Filters(languages=("fr",)), "en, ru"),
        (Filters(languages=("ru", "xx")), "en, ru"),
        (Filters(source_categories=("law",)), "web"),
        (Filters(document_ids=("limits", "limit")), "'limit'"),
    ],
)
async def test_a_filter_value_that_nothing_has(kit: Kit, filters: Filters, named: str) -> None:
    await library(kit)
    with pytest.raises(InvalidInput) as caught:
        await kit.retriever.retrieve(Query("dose", filters=filters))
    assert caught.value.reason == "UNKNOWN_FILTER_VALUE"
    assert named in caught.value.message


async def test_a_withdrawn_document_is_no_unknown_value(kit: Kit) -> None:
    await library(kit)
    await kit.index.withdraw("limits")
    retrieval = await kit.retriever.retrieve(Query("dose", filters=Filters(document_ids=("limits",))))
    assert retrieval.parents == ()


async def test_a_search_goes_deeper_until_enough(kit: Kit) -> None:
    await kit.put("old", 1, ["dose"] * 60, activate=False)
    await kit.put("new", 1, ["dose rate"] * 5)
    asked: list[int] = []

    class Watched(PartlyFailingStore):
        async def search_dense(self, *args: object, **options: object) -> object:
            asked.append(options["limit"])  # type: ignore[arg-type]
            return await self._store.search_dense(*args, **options)  # type: ignore[attr-defined]

    async def dense(active: Sequence[str]) -> list[Hit]:
        store: VectorStore = Watched(kit.store, set(), set())  # type: ignore[assignment]
        search = Search(store, filters=Filters(), active=active, timeout=5)
        return (await search.dense(vector_of("dose"), {"safety": ()}, 5))["safety"]

    hits = await dense(list(kit.catalogue.snapshot.stages))
    assert {hit.child.document_id for hit in hits} == {"new"}
    assert len(hits) == 5
    assert asked == [15, 30, 60, 120]
    assert await dense([]) == []
