"""The appropriateness collection in profile `paper`: Okapi BM25 over what is active, by the retriever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rank_bm25 import BM25Okapi
from structlog.testing import capture_logs

from radref.appropriateness.model import Variant
from radref.errors import InvalidInput, NotFound, Unavailable
from radref.validity import Validity
from retrieval_svc.model import Filters, Leg
from retrieval_svc.profiles import DEFAULT, PAPER, VariantRanking
from retrieval_svc.query import Limits, Preview, Query
from retrieval_svc.retrieve import Retrieval
from retrieval_svc.variant_bm25 import tokens, variant_tokens
from tests.retrieval.retrieval_kit import Kit, batch, beside, header, open_kit, stream
from tests.retrieval.variant_texts import text_of, variant, variant_from

STONE = variant("stone", title="Renal colic", keywords=("kidney stone", "haematuria"))
CAUDA = variant("cauda", title="Cauda equina", keywords=("saddle anaesthesia", "retention"))
CLOT = variant("clot", title="Embolism", keywords=("clot", "dyspnoea"), narrative="A stone in the way.")
MIGRAINE = variant("migraine", title="Migraine", keywords=("aura", "throbbing"))
CHILD = variant("child", title="Limp", keywords=("hip", "refuses to walk"))
KNEE = variant("knee", title="Knee trauma", keywords=("twisted", "swelling"))
LUMP = variant("lump", title="Breast lump", keywords=("palpable", "nipple discharge"))
# A word in exactly half of the variants has an IDF of 0 in this recipe: enough others to be clear of that.
ALL = (STONE, CAUDA, CLOT, MIGRAINE, CHILD, KNEE, LUMP)


class Parsing:
    """Counts passages that were read."""

    def __init__(self) -> None:
        self.read = 0

    def __call__(self, text: str) -> Variant:
        self.read += 1
        return variant_from(text)


@pytest.fixture
def parsing() -> Parsing:
    return Parsing()


@pytest.fixture
async def paper(tmp_path: Path, parsing: Parsing) -> AsyncIterator[Kit]:
    made = await open_kit(tmp_path / "index", profile=PAPER, parse=parsing)
    yield made
    await made.close()


async def put(kit: Kit, *variants: Variant, document: str = "", **options: object) -> None:
    """Each variant its own document, or all of them one document."""
    if document:
        await kit.put(document, 1, [text_of(one) for one in variants], topic="consult", **options)  # type: ignore[arg-type]
        return
    for one in variants:
        await kit.put(one.id, 1, [text_of(one)], topic="consult", **options)  # type: ignore[arg-type]


async def ask(kit: Kit, text: str, **options: object) -> Retrieval:
    return await kit.retriever.retrieve(Query(text, topics=("consult",), **options))  # type: ignore[arg-type]


def found(retrieval: Retrieval) -> list[str]:
    return [variant_from(one.parent.text).id for one in retrieval.parents]


def expected(variants: Sequence[Variant], text: str) -> dict[str, float]:
    """Scores above 0 of rank_bm25, by variant."""
    scores = BM25Okapi([variant_tokens(one) for one in variants]).get_scores(tokens(text))
    return {one.id: float(score) for one, score in zip(variants, scores, strict=True) if score > 0}


async def test_answered_by_okapi(paper: Kit) -> None:
    await put(paper, *ALL)
    await paper.put("limits", 1, ["kidney stone kidney stone"])
    retrieval = await ask(paper, "Kidney stone, haematuria", want_candidates=True)
    scores = expected(ALL, "Kidney stone, haematuria")
    assert found(retrieval) == ["stone", "clot"] == sorted(scores, key=lambda one: -scores[one])
    for one in retrieval.parents:
        score = scores[one.record.document_id]
        assert one.ranked.bm25_score == one.ranked.score == pytest.approx(score, rel=1e-12)
        assert one.ranked.dense_score is None
        assert one.ranked.children == ()
    assert retrieval.signals.best_bm25 == retrieval.parents[0].ranked.bm25_score
    assert retrieval.signals.best_dense is None
    assert retrieval.signals.margin is None
    assert retrieval.candidates == ()
    assert [(leg.leg, leg.topic, leg.ok, leg.hits) for leg in retrieval.legs] == [
        (Leg.BM25, "consult", True, 2)
    ]
    assert set(retrieval.timings) == {"search", "parents", "store_compute"}


async def test_the_score_is_absolute(paper: Kit) -> None:
    """What the gate of the paper, 2.0, is compared with."""
    await put(paper, *ALL)
    assert (await ask(paper, "kidney stone with haematuria")).signals.best_bm25 > 2.0  # type: ignore[operator]
    assert (await ask(paper, "which imaging?")).signals.best_bm25 < 2.0  # type: ignore[operator]


@pytest.mark.parametrize("text", ["Почечная колика?", "unheard of", "?!"])
async def test_no_shared_word(paper: Kit, text: str) -> None:
    await put(paper, *ALL)
    retrieval = await ask(paper, text)
    assert retrieval.parents == ()
    assert retrieval.signals.best_bm25 == 0.0
    assert retrieval.legs[0].ok


async def test_empty_collection(paper: Kit) -> None:
    for _ in range(2):
        retrieval = await ask(paper, "kidney stone")
        assert retrieval.parents == ()
        assert retrieval.signals.best_bm25 == 0.0
        assert [(leg.leg, leg.ok, leg.hits) for leg in retrieval.legs] == [(Leg.BM25, True, 0)]
        await paper.put("limits", 1, ["kidney stone"])


async def test_variants_without_a_positive_score_are_left_out(paper: Kit) -> None:
    await put(paper, STONE)
    retrieval = await ask(paper, "kidney stone")
    assert retrieval.parents == ()
    assert retrieval.signals.best_bm25 == 0.0


async def test_other_queries_use_the_funnel(paper: Kit) -> None:
    await put(paper, *ALL)
    await paper.put("limits", 1, ["kidney stone"])
    for query in (
        Query("kidney stone", topics=("consult", "safety")),
        Query("kidney stone", topics=("consult",), legs=(Leg.DENSE,)),
        Query("kidney stone", topics=("consult",), legs=(Leg.BM25, Leg.DENSE)),
    ):
        retrieval = await paper.retriever.retrieve(query)
        assert retrieval.signals.best_dense is not None
        assert retrieval.parents[0].ranked.children
    default = await beside(paper)
    assert (await ask(default, "kidney stone")).signals.best_dense is not None
    chosen = await beside(paper, profile=replace(DEFAULT, variants=VariantRanking.OKAPI))
    assert (await ask(chosen, "kidney stone")).signals.best_dense is None


async def test_bm25_asked_for_by_name(paper: Kit) -> None:
    await put(paper, *ALL)
    named = await ask(paper, "kidney stone", legs=(Leg.BM25,))
    assert named.signals.best_bm25 == (await ask(paper, "kidney stone")).signals.best_bm25


async def test_indexed_once_for_each_set_of_versions(paper: Kit, parsing: Parsing) -> None:
    await put(paper, *ALL)
    await asyncio.gather(*(ask(paper, "kidney stone") for _ in range(5)))
    assert parsing.read == len(ALL)
    await paper.put("limits", 1, ["a document of another collection"])
    await ask(paper, "kidney stone")
    assert parsing.read == len(ALL)

    changed = replace(CLOT, keywords=("kidney stone", "clot"), narrative="Kidney stone.")
    await paper.put("clot", 2, [text_of(changed)], topic="consult")
    retrieval = await ask(paper, "kidney stone")
    assert parsing.read == len(ALL) + 1, "only what is new is read"
    scores = expected((STONE, CAUDA, changed, *ALL[3:]), "kidney stone")
    assert {one.record.document_id: one.ranked.bm25_score for one in retrieval.parents} == pytest.approx(
        scores, rel=1e-12
    )


async def test_a_withdrawn_variant_vanishes_at_once(paper: Kit) -> None:
    await put(paper, *ALL)
    assert found(await ask(paper, "stone")) == ["stone", "clot"]
    await paper.generations.withdraw("stone")
    retrieval = await ask(paper, "stone")
    assert found(retrieval) == ["clot"]
    left = ALL[1:]
    assert retrieval.signals.best_bm25 == pytest.approx(expected(left, "stone")["clot"], rel=1e-12)
    await paper.generations.withdraw("clot")
    assert found(await ask(paper, "stone")) == []


async def test_preview(paper: Kit) -> None:
    await put(paper, *ALL)
    changed = replace(MIGRAINE, keywords=("stone", "aura"))
    await paper.put("migraine", 2, [text_of(changed)], topic="consult", activate=False)
    await put(paper, variant("new", keywords=("stone",)), activate=False)
    assert set(found(await ask(paper, "stone"))) == {"stone", "clot"}
    assert set(found(await ask(paper, "stone", preview=Preview("migraine", 2)))) == {
        *("stone", "clot", "migraine"),
    }
    assert set(found(await ask(paper, "stone", preview=Preview("new", 1)))) == {"stone", "clot", "new"}
    assert set(found(await ask(paper, "stone"))) == {"stone", "clot"}
    with pytest.raises(NotFound):
        await ask(paper, "stone", preview=Preview("migraine", 3))


async def test_equal_scores_come_by_document_and_passage(paper: Kit) -> None:
    twins = [variant(name, title="Twin", keywords=("kidney stone",)) for name in ("t2", "t1")]
    await put(paper, *twins, *ALL[1:])
    await put(
        paper, *(variant(name, title="Twin", keywords=("kidney stone",)) for name in "zy"), document="t15"
    )
    assert found(await ask(paper, "kidney"))[:4] == ["t1", "z", "y", "t2"]


async def test_a_passage_that_is_no_variant_is_left_out_and_logged(paper: Kit) -> None:
    await put(paper, *ALL)
    await paper.put("leaflet", 1, ["kidney stone kidney stone", "{"], topic="consult")
    with capture_logs() as logs:
        retrieval = await ask(paper, "kidney stone")
    assert retrieval.signals.best_bm25 == pytest.approx(expected(ALL, "kidney stone")["stone"], rel=1e-12)
    (logged,) = [one for one in logs if one["log_level"] == "error"]
    assert logged["count"] == 2
    parents = await paper.store.parents_of([paper.catalogue.snapshot.active["leaflet"].stage])
    assert sorted(logged["citation_ids"]) == sorted(one.key.citation_id for one in parents)
    assert "kidney" not in str(logs)


async def test_filters(paper: Kit) -> None:
    await put(paper, STONE, language="en-GB", year=2020, source_category="own")
    await put(paper, CLOT, language="de", year=2024, source_category="society")
    await put(paper, CAUDA, MIGRAINE, CHILD)
    whole = await ask(paper, "stone")
    for filters, names in (
        (Filters(languages=("EN",)), ["stone"]),
        (Filters(languages=("de",)), ["clot"]),
        (Filters(source_categories=("own",)), ["stone"]),
        (Filters(document_ids=("clot", "cauda")), ["clot"]),
        (Filters(year_from=2021), ["clot"]),
        (Filters(year_to=2023), ["stone"]),
        (Filters(year_from=2020, year_to=2024), ["stone", "clot"]),
        (Filters(year_from=1990, year_to=2000), []),
    ):
        retrieval = await ask(paper, "stone", filters=filters)
        assert found(retrieval) == names
        wanted = {one.parent.key: one.ranked.bm25_score for one in whole.parents}
        assert all(one.ranked.bm25_score == wanted[one.parent.key] for one in retrieval.parents)
    with pytest.raises(InvalidInput):
        await ask(paper, "stone", filters=Filters(languages=("fr",)))


async def test_documents_in_force_come_first_and_equal_texts_take_one_place(paper: Kit) -> None:
    await put(paper, *ALL, effective_until=datetime(2025, 1, 1, tzinfo=UTC))
    copy = replace(CLOT, keywords=("clot", "dyspnoea"))
    await paper.put("copy", 1, [text_of(copy)], topic="consult")
    retrieval = await ask(paper, "stone")
    assert [one.record.document_id for one in retrieval.parents] == ["copy", "stone"]
    assert retrieval.parents[0].duplicates == ["clot"]
    assert retrieval.parents[1].standing.validity is Validity.EXPIRED
    assert retrieval.signals.best_bm25 == max(one.ranked.bm25_score or 0 for one in retrieval.parents)


async def test_limit_of_parents(paper: Kit) -> None:
    await put(paper, *(variant(f"v{n}", keywords=(f"stone{n}",)) for n in range(40)), CAUDA, document="kb")
    scenario = " ".join(f"stone{n}" for n in range(40))
    assert len((await ask(paper, scenario)).parents) == PAPER.parents
    assert len((await ask(paper, scenario, limits=Limits(parents=1000))).parents) == 40


async def test_profile_default_reaches_every_variant(paper: Kit) -> None:
    """With limits as deep as the collection, also where variants have several children and share no word."""
    await put(paper, *(variant(f"v{n}", keywords=(f"stone{n}",)) for n in range(40)), document="kb", pieces=3)
    default = await beside(paper)
    for text in ("stone3", "unheard of"):
        retrieval = await ask(default, text, limits=Limits(per_collection=200, parents=50))
        assert sorted(found(retrieval)) == sorted(f"v{n}" for n in range(40))


async def test_a_missing_passage_is_an_outage(paper: Kit) -> None:
    """Not a smaller collection: another variant would seem to fit best."""
    await put(paper, *ALL)
    await paper.store.delete_points([paper.catalogue.snapshot.active["stone"].stage])
    for _ in range(2):
        with pytest.raises(Unavailable):
            await ask(paper, "stone")


async def test_a_failed_store_is_not_kept(paper: Kit) -> None:
    await put(paper, *ALL)
    down = True

    class Failing:
        def __init__(self, store: object) -> None:
            self._store = store

        def __getattr__(self, name: str) -> object:
            return getattr(self._store, name)

        async def parents_of(self, stages: Sequence[str]) -> object:
            if down:
                raise Unavailable("gone")
            return await paper.store.parents_of(stages)

    kit = await beside(paper, Failing, profile=PAPER)
    with pytest.raises(Unavailable):
        await ask(kit, "stone")
    down = False
    assert found(await ask(kit, "stone")) == ["stone", "clot"]


async def test_the_index_of_another_embedding_model(paper: Kit) -> None:
    await put(paper, *ALL)
    await ask(paper, "stone")
    await paper.generations.begin("other")
    for one in ALL:
        await paper.put(one.id, 1, [text_of(one)], topic="consult", fingerprint="other", activate=False)
    await paper.generations.switch("other")
    assert found(await ask(paper, "stone")) == ["stone", "clot"]


async def test_a_version_that_is_staged_beside_is_no_part_of_it(paper: Kit) -> None:
    one = batch("stone", 1, [text_of(STONE)])
    await put(paper, *ALL)
    await paper.generations.stage(header("stone", 1, 1, 1, topic="consult"), stream(one))
    assert found(await ask(paper, "stone")) == ["stone", "clot"]
