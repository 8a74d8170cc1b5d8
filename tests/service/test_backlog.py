"""A burst waits, an overload is refused; on a clock of its own."""

import asyncio

import pytest

from radref.errors import Overloaded
from radref.service.admission import BURST_SECONDS, Admission
from radref.service.backlog import Backlog


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def backlog(clock: Clock, *, places: int = 1, takes: float = 1.0) -> Backlog:
    made = Backlog(places, 5.0, clock=clock)
    made.took("answer", takes)
    return made


def offer(made: Backlog, clock: Clock, *, every: float, calls: int) -> list[bool]:
    seen = []
    for _ in range(calls):
        made.asked("answer")
        seen.append(made.overloaded)
        clock.now += every
    return seen


def test_as_many_at_once_as_can_be_worked_off_in_the_burst_are_no_overload(clock: Clock) -> None:
    assert offer(backlog(clock), clock, every=0.0, calls=6) == [False] * 5 + [True]


def test_work_that_fits_the_places_never_is_an_overload(clock: Clock) -> None:
    assert not any(offer(backlog(clock, places=2), clock, every=0.5, calls=2000))


def test_twice_the_work_is_an_overload_after_one_burst_and_stays_one(clock: Clock) -> None:
    seen = offer(backlog(clock), clock, every=0.5, calls=1000)
    assert seen.index(True) == pytest.approx(10, abs=2)
    assert all(seen[seen.index(True) + 2 :])


def test_it_is_over_a_burst_after_the_load(clock: Clock) -> None:
    made = backlog(clock)
    offer(made, clock, every=0.1, calls=1000)
    assert made.overloaded
    clock.now += 5.1
    assert not made.overloaded


def test_kinds_count_by_their_own_time_and_follow_its_changes(clock: Clock) -> None:
    made = backlog(clock)
    made.took("look-up", 0.01)
    for _ in range(100):
        made.asked("look-up")
    assert not made.overloaded
    for _ in range(100):
        made.took("look-up", 1.0)
    for _ in range(7):
        made.asked("look-up")
    assert made.overloaded


def test_one_call_that_was_held_up_does_not_make_the_next_ones_count_as_long(clock: Clock) -> None:
    for calls_before in (0, 1, 30):
        made = backlog(clock, takes=0.05)
        for _ in range(calls_before):
            made.took("answer", 0.05)
        made.took("answer", 30.0)
        assert not any(offer(made, clock, every=0.0, calls=90))


def test_calls_of_very_different_length_count_by_their_mean(clock: Clock) -> None:
    made = backlog(clock)
    for _ in range(10):
        made.took("answer", 0.05)
        made.took("answer", 1.95)
    assert any(offer(made, clock, every=0.5, calls=100))


async def test_in_an_overload_a_free_place_is_given_and_no_place_is_refused_at_once(clock: Clock) -> None:
    admission = Admission(1, 100, clock=clock)

    async def ask() -> bool:
        try:
            async with admission.place("answer"):
                return True
        except Overloaded:
            return False

    async with admission.place("answer"):
        clock.now += 1.0
    async with admission.place("answer"):
        crowd = [asyncio.create_task(ask()) for _ in range(int(3 * BURST_SECONDS))]
        # Each has been refused or waits when all have run once.
        await asyncio.sleep(0)
    served = await asyncio.gather(*crowd)
    assert served == sorted(served, reverse=True)
    assert 0 < sum(served) <= BURST_SECONDS
    async with admission.place("answer"):
        assert not await ask()


async def test_a_burst_waits_and_everybody_gets_a_place(clock: Clock) -> None:
    admission = Admission(1, 100, clock=clock)
    async with admission.place("answer"):
        clock.now += 1.0
    served: list[int] = []

    async def ask(number: int) -> None:
        async with admission.place("answer"):
            await asyncio.sleep(0)
            served.append(number)

    await asyncio.gather(*(ask(number) for number in range(int(BURST_SECONDS))))
    assert served == list(range(int(BURST_SECONDS)))
