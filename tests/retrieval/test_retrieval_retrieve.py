from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from radref.errors import InvalidInput, PreconditionFailed, Unavailable
from radref.service.metrics import DEGRADED
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.model import Filters, Hit, Leg
from retrieval_svc.profiles import PAPER
from retrieval_svc.query import Limits, Query
from retrieval_svc.retrieve import QueryEmbedding
from retrieval_svc.search import active_hits
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
    retrieval = await kit.retriever.retrieve(Query("dose limit for workers per year"))
    best = retrieval.parents[0]
    assert best.parent.text == "The dose limit for workers is 20 mSv per year"
    assert best.record.metadata.title == "About limits"
    assert best.parent.pages == (1, 1)
    assert best.ranked.children[0].child.end == len(best.parent.text)
    assert retrieval.embedder_fingerprint == FINGERPRINT
    assert set(retrieval.timings) == {"embed", "search", "parents"}
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
    retrieval = await kit.retriever.retrieve(Query("dose number"))
    assert len(retrieval.candidates) == 15
    limits = Limits(per_collection=60, parents=20)
    retrieval = await kit.retriever.retrieve(Query("dose number", limits=limits))
    assert len(retrieval.candidates) == 60
    assert len(retrieval.parents) == 20
    retrieval = await kit.retriever.retrieve(Query("dose number", limits=Limits(candidates=4)))
    assert len(retrieval.candidates) == 4


async def test_paper_takes_the_parents_of_the_best_children(kit: Kit) -> None:
    await kit.put("many", 1, [f"dose number {number} " * 3 for number in range(30)], pieces=3)
    paper = await beside(kit, profile=PAPER)
    retrieval = await paper.retriever.retrieve(Query("dose number"))
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

    async def search_dense(
        self, topic: str, vector: Sequence[float], *, limit: int, filters: Filters
    ) -> list[Hit]:
        if topic in self._dense:
            raise Unavailable("no")
        return await self._store.search_dense(topic, vector, limit=limit, filters=filters)  # type: ignore[attr-defined,no-any-return]

    async def search_sparse(
        self, topic: str, vector: SparseVector, *, limit: int, filters: Filters
    ) -> list[Hit]:
        if topic in self._sparse:
            raise Unavailable("no")
        return await self._store.search_sparse(topic, vector, limit=limit, filters=filters)  # type: ignore[attr-defined,no-any-return]


async def test_failed_legs_are_reported(kit: Kit) -> None:
    await library(kit)
    partly = await beside(kit, lambda store: PartlyFailingStore(store, {"safety"}, {"safety", "physics"}))
    retrieval = await partly.retriever.retrieve(Query("dose"))
    assert {(report.leg, report.topic) for report in retrieval.legs if not report.ok} == {
        (Leg.DENSE, "safety"),
        (Leg.BM25, "safety"),
        (Leg.BM25, "physics"),
    }
    assert set(documents(retrieval)) == {"words", "tube"}

    everything = set(kit.topics.all)
    down = await beside(kit, lambda store: PartlyFailingStore(store, everything, everything))
    with pytest.raises(Unavailable):
        await down.retriever.retrieve(Query("dose"))


async def test_active_hits_goes_deeper_until_enough(kit: Kit) -> None:
    await kit.put("old", 1, ["dose"] * 60, activate=False)
    await kit.put("new", 1, ["dose rate"] * 5)
    asked: list[int] = []

    async def search(limit: int) -> list[Hit]:
        asked.append(limit)
        return await kit.store.search_dense("safety", vector_of("dose"), limit=limit, filters=Filters())

    hits = await active_hits(search, 5, kit.catalogue.snapshot.stages)
    assert {hit.child.document_id for hit in hits} == {"new"}
    assert len(hits) == 5
    assert asked == [15, 30, 60, 120]
    assert await active_hits(search, 5, ()) == []
