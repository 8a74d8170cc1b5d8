"""What the chaos benchmark says callers saw, and how it judges answers."""

import pytest

from benchmarks.chaos.answers import Judged, judge
from benchmarks.chaos.faults import Outage
from benchmarks.chaos.figures import Seen, seen
from benchmarks.live.calls import Call
from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.errors import NotFound


def failed(began: float, milliseconds: float) -> Call:
    return Call("search", "", began, milliseconds, "UNAVAILABLE", "BACKEND_UNAVAILABLE")


def test_errors_their_span_and_the_recovery_count_from_the_fault_and_the_return() -> None:
    calls = [
        failed(1.0, 500.0),  # over before the fault
        Call("search", "", 9.9, 200.0, "OK"),  # under way at the fault
        failed(11.0, 100.0),
        failed(12.0, 3000.0),  # ends after the service is back
        Call("search", "", 16.0, 900.0, "OK"),
        failed(31.0, 10.0),  # of the next fault
    ]
    found = seen(calls, Outage(began=10.0, back=14.0), until=30.0)
    assert found["search"] == Seen(
        calls=4,
        failed={"UNAVAILABLE BACKEND_UNAVAILABLE": 2},
        slowest_ms=900.0,
        lasted=pytest.approx(5.0),
        recovery=pytest.approx(1.0),
    )


def test_a_fault_nobody_saw_lasted_no_time() -> None:
    found = seen([Call("search", "", 11.0, 50.0, "OK")], Outage(10.0, 14.0), 30.0)
    assert (found["search"].failed, found["search"].lasted, found["search"].recovery) == ({}, 0.0, 0.0)


class Sources:
    """Stands for the client: one passage."""

    async def get_source(self, citation_id: str) -> gateway_pb2.GetSourceResponse:
        if citation_id != "a" * 20:
            raise NotFound("no such passage")
        return gateway_pb2.GetSourceResponse(passage=documents_pb2.Passage(text="The limit is 20 mSv."))


def answer(
    text: str, *, quote: str = "20 mSv", cites: str = "a" * 20, degraded: bool = False
) -> gateway_pb2.GenerateResponse:
    citation = answer_pb2.Citation(citation_id=cites, start=13, end=19, quote=quote)
    notices = [answer_pb2.Notice(kind=answer_pb2.NOTICE_KIND_DEGRADED_SEARCH)] if degraded else []
    return gateway_pb2.GenerateResponse(
        query="q",
        outcome=answer_pb2.OUTCOME_ANSWERED,
        statements=[answer_pb2.Statement(text=text, citations=[citation])],
        notices=notices,
    )


async def test_answers_are_right_degraded_wrong_or_unfounded() -> None:
    uncited = answer("right")
    del uncited.statements[0].citations[:]
    given = [
        answer("right"),
        answer("another", degraded=True),
        answer("another"),
        answer("right", quote="50 mSv"),
        answer("right", cites="b" * 20),
        uncited,
    ]
    judged = await judge(Sources(), given, {"q": answer("right")})  # type: ignore[arg-type]
    assert judged == Judged(same=1, degraded=1, wrong=1, unfounded=3)
