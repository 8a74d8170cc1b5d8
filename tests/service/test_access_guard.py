"""The guard as a facade other than gRPC uses it, and the same guard behind gRPC."""

import asyncio
from collections.abc import Callable

import pytest

from radref import errors
from radref.service.access.caller import Caller, Role
from radref.service.access.rate_limit import RateLimit
from radref.service.access.rules import rules_of
from radref.service.actor import actor_of
from radref.service.admission import Admission
from radref.service.context import current_call
from radref.service.guard import Guard
from tests.service.access_issuer import Issuer, access_with

READ = "/S/Read"
FOLLOW = "/S/Follow"
RULES = rules_of("S", {"Read": frozenset({Role.READER}), "Follow": frozenset({Role.READER})})
issuer = Issuer()


def guard(*, burst: int = 100, inflight: int = 4, queue: int = 4) -> Guard:
    return Guard(
        admission=Admission(inflight, queue),
        access=access_with(issuer.jwks, RULES),
        rate_limit=RateLimit(1, burst),
        long_lived=frozenset({FOLLOW}),
    )


def bearer(**changes) -> str:
    return f"Bearer {issuer.token(**changes)}"


class NoMetadata:
    def invocation_metadata(self):
        return (("radref-actor", "somebody else"),)


async def test_inside_the_call_is_known_and_outside_it_is_not() -> None:
    header = bearer()
    async with guard().around(method=READ, authorization=header, request_id="abc", timeout=5) as call:
        assert call is current_call()
        assert (call.method, call.request_id) == (READ, "abc")
        assert call.caller == Caller("dr.weber", frozenset({Role.READER}))
        assert 0 < (call.remaining() or 0) <= 5
        assert header not in repr(call)
        assert actor_of(NoMetadata()) == "dr.weber"
    assert current_call() is None


@pytest.mark.parametrize(
    ("method", "header", "kind", "reason"),
    [
        (READ, lambda: None, errors.Unauthenticated, "TOKEN_MISSING"),
        (READ, lambda: "Bearer x", errors.Unauthenticated, "TOKEN_INVALID"),
        # Made when the test runs: a token of the time of collection may have run out by then.
        ("/S/New", lambda: bearer(roles=[*Role]), errors.PermissionDenied, "ROLE_REQUIRED"),
        (READ, lambda: bearer(roles=["admin"]), errors.PermissionDenied, "ROLE_REQUIRED"),
    ],
)
async def test_refusals(
    method: str, header: Callable[[], str | None], kind: type[errors.RadrefError], reason: str
) -> None:
    with pytest.raises(kind) as caught:
        async with guard().around(method=method, authorization=header(), request_id=None, timeout=5):
            raise AssertionError("served")
    assert caught.value.reason == reason


async def test_each_caller_has_a_rate_of_his_own() -> None:
    one = guard(burst=1)

    async def call(subject: str) -> None:
        async with one.around(method=READ, authorization=bearer(sub=subject), request_id=None, timeout=5):
            pass

    await call("a")
    await call("b")
    with pytest.raises(errors.Overloaded) as caught:
        await call("a")
    assert caught.value.reason == "RATE_LIMITED"
    assert (caught.value.retry_after or 0) > 1


async def test_work_that_takes_too_long_is_cancelled() -> None:
    with pytest.raises(errors.DeadlineExceeded):
        async with guard().around(method=READ, authorization=bearer(), request_id=None, timeout=0.05):
            await asyncio.Event().wait()


async def test_a_deadline_is_needed_except_by_long_streams() -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        async with guard().around(method=READ, authorization=bearer(), request_id=None, timeout=None):
            pass
    assert caught.value.reason == "DEADLINE_REQUIRED"
    async with guard().around(method=FOLLOW, authorization=bearer(), request_id=None, timeout=None) as call:
        assert call.remaining() is None


async def test_a_long_stream_ends_when_the_service_drains() -> None:
    one = guard()

    async def follow() -> None:
        async with one.around(method=FOLLOW, authorization=bearer(), request_id=None, timeout=None):
            one.draining.set()
            await asyncio.Event().wait()

    with pytest.raises(errors.Unavailable) as caught:
        await follow()
    assert caught.value.reason == "NOT_READY"


async def test_places_are_shared_and_given_back() -> None:
    one = guard(inflight=1, queue=0)

    async def call() -> None:
        async with one.around(method=READ, authorization=bearer(), request_id=None, timeout=5):
            pass

    async with one.around(method=READ, authorization=bearer(), request_id=None, timeout=5):
        with pytest.raises(errors.Overloaded) as caught:
            await call()
        assert caught.value.reason == "OVERLOADED"
    await call()
