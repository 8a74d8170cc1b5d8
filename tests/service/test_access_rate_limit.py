"""Rates of callers: each has its own."""

import pytest

from radref.errors import Overloaded
from radref.service.access import rate_limit
from radref.service.access.rate_limit import RateLimit


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def refused(limit: RateLimit, caller: str) -> float:
    with pytest.raises(Overloaded) as caught:
        limit.take(caller)
    assert caught.value.reason == "RATE_LIMITED"
    assert caught.value.retry_after is not None
    return caught.value.retry_after


def test_two_callers_do_not_share_a_rate() -> None:
    clock = Clock()
    limit = RateLimit(60, 3, clock=clock)
    for _ in range(3):
        limit.take("a")
    assert refused(limit, "a") == pytest.approx(1.0)
    for _ in range(3):
        limit.take("b")
    clock.now += 1.0
    limit.take("a")
    assert refused(limit, "a") == pytest.approx(1.0)


def test_waiting_as_long_as_told_is_enough() -> None:
    clock = Clock()
    limit = RateLimit(7, 1, clock=clock)
    limit.take("a")
    clock.now += 3
    clock.now += refused(limit, "a") + 1e-9
    limit.take("a")


def test_a_pause_fills_no_more_than_the_burst() -> None:
    clock = Clock()
    limit = RateLimit(60, 2, clock=clock)
    limit.take("a")
    clock.now += 10_000
    limit.take("a")
    limit.take("a")
    refused(limit, "a")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MAX_CALLERS", 3)
    limit = RateLimit(60, 1, clock=Clock())
    for caller in "abcdef":
        limit.take(caller)
    assert len(limit._buckets) == 3
    refused(limit, "f")
