"""The pipeline with scripted neighbours: what is answered, what is refused, what is an error."""

import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

import pytest

from gateway.gate import GateThresholds
from gateway.model import (
    AbstentionReason,
    ChildHit,
    DocumentInfo,
    FailedLeg,
    Filters,
    GenerationEnd,
    Leg,
    NoticeKind,
    Outcome,
    Passage,
    PromptMessage,
    RankedPassage,
    Reranked,
    RerankMode,
    Retrieved,
    SearchQuery,
    Signals,
)
from gateway.pipeline import Pipeline, PipelineLimits
from gateway.validation import ValidationPolicy
from radref.errors import InvalidInput, PreconditionFailed

TEXT = "The annual limit for the lens of the eye of a worker is 20 mSv."
FINGERPRINT = "f" * 16


def passage(ordinal: int, text: str = TEXT) -> RankedPassage:
    return RankedPassage(
        passage=Passage(
            citation_id=f"{ordinal:020x}",
            document_id="doc",
            version=1,
            ordinal=ordinal,
            text=text,
            section_path=("Limits",),
            document=DocumentInfo(title="Dose limits", topic="safety", language="en", year=2024),
        ),
        rrf_score=1 / (60 + ordinal),
        children=(ChildHit(0, 0, len(text), 0.01, ("Limits",), dense_score=0.9),),
    )


STRONG = Retrieved(
    parents=tuple(passage(n) for n in range(13)),
    candidates=(),
    failed_legs=(),
    signals=Signals(best_dense=0.95, best_bm25=20.0, term_coverage=1.0),
    embedder_fingerprint=FINGERPRINT,
    index_version=7,
    timings={"embed": 1.0, "search": 2.0},
)


class Searching:
    def __init__(self, retrieved: Retrieved) -> None:
        self.retrieved = retrieved
        self.queries: list[SearchQuery] = []

    async def retrieve(self, query: SearchQuery) -> Retrieved:
        self.queries.append(query)
        return self.retrieved


class Reranking:
    compute_milliseconds = 0.0

    async def rerank(self, query: str, passages: Sequence[Passage]) -> Reranked:
        return Reranked([passage.ordinal / 100 for passage in passages], "rr@1", self.compute_milliseconds)


class Generating:
    """Writes the text of each call in turn, the last one for ever, some characters at a time."""

    def __init__(self, *texts: str, cut_off: bool = False, step: int = 7) -> None:
        self.texts = list(texts)
        self.cut_off = cut_off
        self.step = step
        self.written = 0
        self.closed = 0
        self.calls: list[tuple[str, Sequence[RankedPassage], Sequence[PromptMessage]]] = []

    async def generate(
        self, *, model, messages, query, passages, json_schema, max_tokens
    ) -> AsyncGenerator[str | GenerationEnd, None]:
        self.calls.append((model, passages, messages))
        text = self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]
        try:
            for start in range(0, len(text), self.step):
                self.written = start + self.step
                yield text[start : start + self.step]
            yield GenerationEnd(model, "g" * 16, 10, 5, self.cut_off)
        finally:
            self.closed += 1


def output(*statements: dict[str, object], insufficient: bool = False, missing: str = "") -> str:
    return json.dumps(
        {
            "analysis": "secret thoughts",
            "insufficient": insufficient,
            "missing": missing,
            "conflicts": [],
            "statements": list(statements),
        }
    )


GOOD = {
    "text": "The eye lens limit for a worker is 20 mSv a year.",
    "citations": [{"id": f"{0:020x}", "quote": TEXT}],
}


def pipeline(
    retrieved: Retrieved = STRONG,
    *texts: str,
    rerank: bool = False,
    fitted: str = FINGERPRINT,
    cut_off: bool = False,
    policy: ValidationPolicy | None = None,
) -> tuple[Pipeline, Searching, Generating]:
    searching = Searching(retrieved)
    generating = Generating(*(texts or (output(GOOD),)), cut_off=cut_off)
    made = Pipeline(
        searching=searching,
        reranking=Reranking(),
        generating=generating,
        gate=GateThresholds(embedder_fingerprint=fitted),
        policy=policy or ValidationPolicy(),
        limits=PipelineLimits(
            max_query_characters=100,
            generation_parents=5,
            max_prompt_tokens=8192,
            max_answer_tokens=256,
            models=("extractive", "big"),
            rerank=rerank,
        ),
    )
    return made, searching, generating


async def test_a_checked_statement_is_answered() -> None:
    made, _, generating = pipeline()
    answer = await made.answer("Eye lens limit?", Filters())
    assert answer.outcome is Outcome.ANSWERED
    (statement,) = answer.statements
    citation = statement.citations[0]
    assert TEXT[citation.start : citation.end] == citation.quote
    assert answer.versions.generator == f"extractive@{'g' * 16}"
    assert answer.versions.knowledge_base == 7
    assert len(answer.parents) == len(generating.calls[0][1]) == 5
    assert {"embed", "search", "gate", "generate", "validate"} <= set(answer.timings)
    assert "secret thoughts" not in repr(answer)


async def test_weak_scores_abstain_without_asking_the_generator() -> None:
    weak = replace(STRONG, signals=Signals(best_dense=0.1, best_bm25=0.1, term_coverage=0.0))
    made, _, generating = pipeline(weak)
    answer = await made.answer("Parking fee?", Filters())
    assert answer.outcome is Outcome.ABSTAINED
    assert answer.abstention is not None
    assert answer.abstention.reason is AbstentionReason.OUT_OF_SCOPE
    assert generating.calls == []
    known = replace(STRONG, signals=Signals(best_dense=0.1, best_bm25=0.1, term_coverage=0.2))
    made, _, generating = pipeline(known)
    answer = await made.answer("Parking fee?", Filters())
    assert answer.abstention is not None
    assert answer.abstention.reason is AbstentionReason.INSUFFICIENT_EVIDENCE
    assert generating.calls == []


async def test_an_empty_search_abstains_in_the_language_of_the_question() -> None:
    made, _, _ = pipeline(replace(STRONG, parents=()))
    answer = await made.answer("Где парковка?", Filters())
    assert answer.abstention is not None
    assert "ничего не найдено" in answer.abstention.message


async def test_an_invented_citation_leaves_nothing_and_abstains() -> None:
    invented = {**GOOD, "citations": [{"id": "a" * 20, "quote": TEXT}]}
    made, _, _ = pipeline(STRONG, output(invented))
    answer = await made.answer("Eye lens limit?", Filters())
    assert answer.outcome is Outcome.ABSTAINED
    assert answer.abstention is not None
    assert answer.abstention.reason is AbstentionReason.NO_VALID_CITATION
    assert answer.validation.citations_unknown == 1


async def test_a_passage_that_was_not_sent_to_the_generator_cannot_be_cited() -> None:
    beyond = {**GOOD, "citations": [{"id": f"{9:020x}", "quote": TEXT}]}
    made, _, _ = pipeline(STRONG, output(beyond))
    assert (await made.answer("Eye lens limit?", Filters())).outcome is Outcome.ABSTAINED


async def test_an_incomplete_answer_says_what_is_missing() -> None:
    made, _, _ = pipeline(STRONG, output(GOOD, insufficient=True, missing="the limit for apprentices"))
    answer = await made.answer("Limits?", Filters())
    assert answer.outcome is Outcome.PARTIALLY_ANSWERED
    assert [(n.kind, n.message) for n in answer.notices] == [
        (NoticeKind.MISSING_INFORMATION, "the limit for apprentices")
    ]


async def test_a_gate_fitted_for_another_embedder_fails_closed() -> None:
    made, _, generating = pipeline(fitted="0" * 16)
    with pytest.raises(PreconditionFailed) as caught:
        await made.answer("Limits?", Filters())
    assert caught.value.reason == "GATE_NOT_CALIBRATED"
    assert generating.calls == []


async def test_degraded_search_is_said() -> None:
    made, _, _ = pipeline(replace(STRONG, failed_legs=(FailedLeg(Leg.DENSE, "safety"),)))
    answer = await made.answer("Limits?", Filters())
    assert any(n.kind is NoticeKind.DEGRADED_SEARCH and "dense/safety" in n.message for n in answer.notices)


async def test_compute_times_pass_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reranking, "compute_milliseconds", 3.5)
    timings = {"embed": 5.0, "search": 2.0, "parents": 1.0, "embed_compute": 4.0, "store_compute": 1.5}
    made, _, _ = pipeline(replace(STRONG, timings=timings), rerank=True)
    found = (await made.search(SearchQuery("limits"))).timings
    assert {stage: found[stage] for stage in timings} == timings
    assert found["rerank_compute"] == 3.5


async def test_reranking_reorders_and_can_be_switched_off() -> None:
    made, _, _ = pipeline(rerank=True)
    on = await made.search(SearchQuery("limits"))
    assert [p.passage.ordinal for p in on.parents][:2] == [12, 11]
    assert on.versions.reranker == "rr@1"
    assert "rerank" in on.timings
    assert "rerank_compute" not in on.timings  # the model does not tell
    off = await made.search(SearchQuery("limits", rerank=RerankMode.OFF))
    assert [p.passage.ordinal for p in off.parents][:2] == [0, 1]
    assert off.parents[0].rerank_score is None


@pytest.mark.parametrize(
    ("question", "reason"),
    [("", "EMPTY_TEXT"), (" \n\t", "EMPTY_TEXT"), ("?!…", "EMPTY_TEXT"), ("x" * 101, "TEXT_TOO_LONG")],
)
async def test_bad_questions_are_refused(question: str, reason: str) -> None:
    made, searching, _ = pipeline()
    for call in (made.answer(question, Filters()), made.prompt(question, Filters())):
        with pytest.raises(InvalidInput) as caught:
            await call
        assert (caught.value.reason, caught.value.field) == (reason, "query")
    assert searching.queries == []


async def test_a_model_off_the_list_is_refused() -> None:
    made, _, _ = pipeline()
    with pytest.raises(InvalidInput, match="known: extractive, big") as caught:
        await made.answer("Limits?", Filters(), model="gpt")
    assert caught.value.reason == "UNKNOWN_MODEL"


async def test_the_prompt_is_what_the_generator_gets() -> None:
    made, _, generating = pipeline()
    shown = await made.prompt("Eye lens limit?", Filters())
    await made.answer("Eye lens limit?", Filters())
    assert tuple(generating.calls[0][2]) == shown.messages
    assert [message.role for message in shown.messages] == ["system", "user"]
    assert f'id="{0:020x}"' in shown.messages[1].content
