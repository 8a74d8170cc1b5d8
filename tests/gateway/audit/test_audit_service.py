"""The audit trail and feedback through the gateway's API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import grpc
import pytest

from gateway.answer_messages import OUTCOMES_TO_PROTO
from gateway.audit.database import AuditDatabase
from gateway.audit.model import AuditFilter
from gateway.audit.trail import AuditTrail
from gateway.model import AbstentionReason, Outcome
from radref.api.common.v1 import errors_pb2
from radref.api.gateway.v1 import answer_pb2, gateway_pb2_grpc
from radref.api.gateway.v1 import gateway_pb2 as pb
from radref.client import RadrefClient
from radref.errors import InvalidInput, NotFound, RadrefError, Unavailable
from radref.service.status import error_from_rpc
from tests.gateway.audit.audit_kit import (
    IDS,
    KEY,
    NOW,
    Failing,
    gateway_on,
    make_read_only,
    make_trail,
    numbered,
    whole_store,
)
from tests.gateway.test_pipeline import pipeline

QUESTION = "Eye lens limit of Ivanov?"


async def entries(client: RadrefClient, **wanted: object) -> list[pb.AuditEntry]:
    return [entry async for entry in client.query_audit(**wanted)]  # type: ignore[arg-type]


async def test_every_question_is_in_the_trail(
    database: AuditDatabase, trail: AuditTrail, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with (
        gateway_on(pipeline()[0], database, trail) as address,
        RadrefClient(gateway=address) as client,
    ):
        found = await client.search(QUESTION)
        prompt = await client.prompt(QUESTION)
        answer = await client.generate(QUESTION)
        generated, prompted, searched = await entries(client)
    assert [searched.method, prompted.method, generated.method] == ["Search", "Prompt", "Generate"]
    assert [searched.request_id, prompted.request_id, generated.request_id] == [
        found.request_id,
        prompt.request_id,
        answer.request_id,
    ]
    assert {searched.actor, generated.actor} == {"local"}
    assert searched.query_hash == prompted.query_hash == generated.query_hash
    assert list(searched.citation_ids) == [each.passage.citation_id for each in found.ranked_parents]
    assert list(generated.citation_ids) == [IDS[0]]
    assert list(generated.uncited_ids) == [each.passage.citation_id for each in answer.ranked_parents[1:]]
    assert generated.outcome == answer_pb2.OUTCOME_ANSWERED
    assert searched.outcome == answer_pb2.OUTCOME_UNSPECIFIED
    assert (generated.generator, generated.knowledge_base) == (answer.versions.generator, 7)
    assert generated.milliseconds > 0
    assert generated.query_text == ""
    written = capfd.readouterr()
    assert "Ivanov" not in written.out + written.err
    assert b"Ivanov" not in whole_store(tmp_path)
    assert KEY not in whole_store(tmp_path)


async def test_refused_and_failed_calls_are_in_the_trail(database: AuditDatabase, trail: AuditTrail) -> None:
    made, _, generating = pipeline()

    async def dead(**asked: object) -> AsyncGenerator[str, None]:
        raise Unavailable("the generator does not answer")
        yield ""

    generating.generate = dead  # type: ignore[method-assign, assignment]
    async with gateway_on(made, database, trail) as address, RadrefClient(gateway=address) as client:
        for question in ("", "a" * 101, QUESTION):
            with pytest.raises(RadrefError):
                await client.generate(question)
        found = await entries(client)
    assert [entry.error_reason for entry in found] == [
        errors_pb2.ERROR_REASON_BACKEND_UNAVAILABLE,
        errors_pb2.ERROR_REASON_TEXT_TOO_LONG,
        errors_pb2.ERROR_REASON_EMPTY_TEXT,
    ]
    assert {entry.outcome for entry in found} == {answer_pb2.OUTCOME_UNSPECIFIED}


async def test_a_streamed_answer_is_in_the_trail_before_its_end(
    database: AuditDatabase, trail: AuditTrail
) -> None:
    async with (
        gateway_on(pipeline()[0], database, trail) as address,
        RadrefClient(gateway=address) as client,
        grpc.aio.insecure_channel(address) as channel,
    ):
        stub = gateway_pb2_grpc.GatewayServiceStub(channel)
        request = pb.StreamGenerateRequest(query=QUESTION)
        events = [message async for message in stub.StreamGenerate(request, timeout=30)]
        (entry,) = await entries(client)
    assert entry.method == "StreamGenerate"
    assert entry.outcome == events[-1].end.outcome == answer_pb2.OUTCOME_ANSWERED
    assert entry.request_id == events[0].sources.request_id
    assert list(entry.citation_ids) == [events[1].statement.citations[0].citation_id]


async def test_a_caller_that_went_away_is_in_the_trail(database: AuditDatabase, trail: AuditTrail) -> None:
    waiting = Failing(entered=asyncio.Event())
    assert waiting.entered
    async with gateway_on(waiting, database, trail) as address, RadrefClient(gateway=address) as client:
        call = asyncio.create_task(client.generate(QUESTION))
        await waiting.entered.wait()
        call.cancel()
        async with asyncio.timeout(30):
            while not (found := await entries(client)):
                await asyncio.sleep(0.01)
    assert found[0].error_reason == errors_pb2.ERROR_REASON_CANCELLED


async def test_a_defect_is_in_the_trail(database: AuditDatabase, trail: AuditTrail) -> None:
    broken = Failing(error=KeyError("Ivanov"))
    async with gateway_on(broken, database, trail) as address, RadrefClient(gateway=address) as client:
        with pytest.raises(RadrefError):
            await client.generate(QUESTION)
        (found,) = await entries(client)
    assert found.error_reason == errors_pb2.ERROR_REASON_INTERNAL


async def test_what_cannot_be_recorded_is_not_answered(database: AuditDatabase, trail: AuditTrail) -> None:
    await database.open()
    make_read_only(database)
    async with (
        gateway_on(pipeline()[0], database, trail) as address,
        RadrefClient(gateway=address) as client,
    ):
        for ask in (client.generate, client.search, client.prompt):
            with pytest.raises(Unavailable) as caught:
                await ask(QUESTION)
            assert caught.value.metadata["backend"] == "audit"
    async with (
        gateway_on(pipeline()[0], database, make_trail(database, required=False)) as address,
        RadrefClient(gateway=address) as client,
    ):
        assert (await client.generate(QUESTION)).outcome == answer_pb2.OUTCOME_ANSWERED


async def test_every_outcome_and_reason_has_its_name_in_the_api(
    database: AuditDatabase, trail: AuditTrail
) -> None:
    for number, outcome in enumerate(Outcome):
        await trail.record(numbered(number, outcome=outcome))
    for number, reason in enumerate(AbstentionReason):
        await trail.record(numbered(10 + number, outcome=Outcome.ABSTAINED, abstention_reason=reason))
    await trail.record(numbered(20, outcome=None, error_reason="OF_A_LATER_RELEASE"))
    async with (
        gateway_on(pipeline()[0], database, trail) as address,
        RadrefClient(gateway=address) as client,
    ):
        newest, *others = await entries(client, page_size=2)
    assert newest.error_reason == errors_pb2.ERROR_REASON_INTERNAL
    assert [each.abstention_reason for each in others if each.abstention_reason] == [
        answer_pb2.AbstentionReason.Value(f"ABSTENTION_REASON_{reason.name}")
        for reason in reversed(AbstentionReason)
    ]
    assert {entry.outcome for entry in others} == set(OUTCOMES_TO_PROTO.values())


async def test_the_trail_is_asked_by_time_user_passage_and_request(
    database: AuditDatabase, trail: AuditTrail
) -> None:
    for number in range(5):
        await trail.record(
            numbered(number, actor="Боб" if number % 2 else "ann", citation_ids=IDS[number : number + 1])
        )
    async with (
        gateway_on(pipeline()[0], database, trail) as address,
        RadrefClient(gateway=address) as client,
    ):

        async def ids(**wanted: object) -> list[str]:
            return [entry.request_id for entry in await entries(client, page_size=2, **wanted)]

        assert await ids() == ["r4", "r3", "r2", "r1", "r0"]
        assert await ids(since=NOW + timedelta(seconds=3)) == ["r4", "r3"]
        assert await ids(until=NOW + timedelta(seconds=1)) == ["r0"]
        assert await ids(actor="Боб") == ["r3", "r1"]
        assert await ids(citation_id=f"[{IDS[2]}]") == ["r2"]
        assert await ids(request_id="r4") == ["r4"]
        assert await ids(actor="nobody") == []


@pytest.mark.parametrize(
    ("request_", "reason", "field"),
    [
        (pb.QueryAuditRequest(page_size=1001), "OUT_OF_RANGE", "page_size"),
        (pb.QueryAuditRequest(page_token="?"), "INVALID_FIELD", "page_token"),
        (pb.QueryAuditRequest(citation_id="x"), "INVALID_FIELD", "citation_id"),
        (pb.QueryAuditRequest(actor="a\x00"), "INVALID_FIELD", "actor"),
        (pb.QueryAuditRequest(request_id="a\x00"), "INVALID_FIELD", "request_id"),
        (pb.QueryAuditRequest(until={"seconds": 10**15}), "INVALID_FIELD", "until"),
        (pb.QueryAuditRequest(until={"seconds": 5}, **{"from": {"seconds": 5}}), "INVALID_FIELD", "until"),
        (pb.ListFeedbackRequest(page_size=1001), "OUT_OF_RANGE", "page_size"),
        (pb.ListFeedbackRequest(**{"from": {"seconds": -(10**15)}}), "INVALID_FIELD", "from"),
        (
            pb.SubmitFeedbackRequest(request_id="r", ratings=[{"criterion": 99, "rating": 1}]),
            "INVALID_FIELD",
            "ratings[0].criterion",
        ),
        (
            pb.SubmitFeedbackRequest(request_id="r", ratings=[{"criterion": 1, "rating": 4000000000}]),
            "OUT_OF_RANGE",
            "ratings[0].rating",
        ),
    ],
)
async def test_unusable_requests_are_refused_with_their_field(
    database: AuditDatabase, trail: AuditTrail, request_, reason: str, field: str
) -> None:
    method = type(request_).__name__.removesuffix("Request")
    async with (
        gateway_on(pipeline()[0], database, trail) as address,
        RadrefClient(gateway=address) as client,
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await getattr(client._gateway, method)(request_, timeout=10)
    error = error_from_rpc(caught.value, backend="gateway")
    assert isinstance(error, InvalidInput)
    assert (error.reason, error.field) == (reason, field)


async def test_feedback_goes_in_and_comes_out(database: AuditDatabase, trail: AuditTrail) -> None:
    marks = [
        pb.CriterionRating(criterion=number, rating=1 + number % 5)
        for number in pb.FeedbackCriterion.values()
        if number
    ]
    async with (
        gateway_on(pipeline()[0], database, trail) as address,
        RadrefClient(gateway=address, actor="д-р Смирнова") as client,
    ):
        answer = await client.generate(QUESTION)
        with pytest.raises(NotFound) as caught:
            await client.submit_feedback("unknown", ratings=marks)
        assert caught.value.reason == "UNKNOWN_REQUEST"
        useful = [pb.PassageRating(citation_id=IDS[0], usefulness=5)]
        given = await client.submit_feedback(
            answer.request_id, ratings=marks, passages=useful, comment="Точно."
        )
        (stored,) = [entry async for entry in client.list_feedback(request_id=answer.request_id)]
    assert (stored.feedback_id, stored.request_id, stored.actor) == (given, answer.request_id, "д-р Смирнова")
    assert (list(stored.ratings), list(stored.passages), stored.comment) == (marks, useful, "Точно.")
    assert (stored.method, stored.outcome) == ("Generate", answer_pb2.OUTCOME_ANSWERED)
    trailed = (await trail.query(AuditFilter())).records
    assert [record.query_hash for record in trailed] == [stored.query_hash]
