from __future__ import annotations

import pytest

from evaluation.qa_run import QaRun, observe, run_questions
from evaluation.questions import Question
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.client import RadrefClient
from radref.errors import DeadlineExceeded, Internal, Unavailable
from tests.evaluation.eval_fake_system import VERSIONS, FakeGateway, passage, ranked, serving, statement

GOLD = passage(
    "g" * 20, "| Worker | limit |\n|---|---|\n| staff | 20 mSv |", document="stored", section=("Rules",)
)
SIBLING = passage("s" * 20, "Other rules.", document="stored", section=("Part", "2. Limits for staff"))
OTHER = passage("o" * 20, "Something else.", document="elsewhere", section=("Limits for staff",))

QUESTION = Question(
    id="q",
    query="What limit?",
    language="en",
    doc_language="en",
    answerable=True,
    level="0",
    gold_doc="gold",
    gold_section="Limits for staff",
    gold_quotes=("staff 20 mSv", "not there at all"),
    key_facts=("20 mSv|20 мЗв", "per year"),
)
REFUSABLE = Question(id="u", query="Who?", language="en", doc_language="en", answerable=False)


def searched(request: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
    fused = request.rerank == gateway_pb2.RERANK_MODE_OFF
    order = (OTHER, SIBLING, GOLD) if fused else (GOLD, OTHER, SIBLING)
    return gateway_pb2.SearchResponse(ranked_parents=ranked(*order))


def answered(request: gateway_pb2.GenerateRequest) -> gateway_pb2.GenerateResponse:
    if request.query == REFUSABLE.query:
        return gateway_pb2.GenerateResponse(outcome=answer_pb2.OUTCOME_ABSTAINED)
    return gateway_pb2.GenerateResponse(
        outcome=answer_pb2.OUTCOME_PARTIALLY_ANSWERED,
        ranked_parents=ranked(GOLD, OTHER),
        statements=[
            statement("The limit is given.", (GOLD.citation_id, "20 mSv"), (OTHER.citation_id, "else")),
            statement("See the rules.", (SIBLING.citation_id, "Other")),
        ],
    )


async def test_one_answer_is_observed() -> None:
    gateway = FakeGateway(searched, answered, sources={SIBLING.citation_id: SIBLING})
    async with serving(gateway) as address, RadrefClient(gateway=address) as client:
        seen, versions = await observe(client, QUESTION, gold_doc="stored", timeout=5)
    assert versions == VERSIONS
    assert (seen.quote_ranks, seen.quote_ranks_fused) == ((1, None), (3, None))
    assert [request.limits.parents for request in gateway.searches] == [13, 13]
    assert not seen.abstained
    # The fact stands in the quotation only; "per year" nowhere.
    assert seen.facts_found == 1
    # The gold passage holds a quote, its sibling is of the gold section, the other document is neither.
    assert (seen.citations, seen.citations_supported, seen.quotes_cited) == (3, 2, 1)
    assert seen.generate_ms > 0


async def test_a_refusable_question_is_only_asked() -> None:
    gateway = FakeGateway(searched, answered)
    async with serving(gateway) as address, RadrefClient(gateway=address) as client:
        seen, _ = await observe(client, REFUSABLE, gold_doc="", timeout=5)
    assert seen.abstained
    assert gateway.searches == []


async def test_no_outcome_is_a_defect_not_an_answer() -> None:
    gateway = FakeGateway(searched, lambda _: gateway_pb2.GenerateResponse())
    async with serving(gateway) as address, RadrefClient(gateway=address) as client:
        with pytest.raises(Internal):
            await observe(client, REFUSABLE, gold_doc="", timeout=5)


async def run_with_failures(total: int, failing: int) -> QaRun:
    def generate(request: gateway_pb2.GenerateRequest) -> gateway_pb2.GenerateResponse:
        if int(request.query) < failing:
            raise DeadlineExceeded("too slow")
        return gateway_pb2.GenerateResponse(outcome=answer_pb2.OUTCOME_ABSTAINED)

    questions = [Question(str(i), str(i), "en", "en", False) for i in range(total)]
    done: list[int] = []
    async with serving(FakeGateway(searched, generate)) as address, RadrefClient(gateway=address) as client:
        run = await run_questions(
            client, questions, stored_ids={}, concurrency=4, timeout=5, on_done=lambda: done.append(1)
        )
    assert len(done) == total
    return run


async def test_failed_questions_are_counted_and_left_out() -> None:
    run = await run_with_failures(20, 1)
    assert [observation.question.id for observation in run.observations] == [str(i) for i in range(1, 20)]
    assert run.failures.reasons == {"DEADLINE": 1}
    assert run.versions == VERSIONS


async def test_too_many_failures_end_the_measurement() -> None:
    with pytest.raises(Unavailable, match="2 of 20 calls failed") as caught:
        await run_with_failures(20, 2)
    assert caught.value.reason == "DEADLINE"
