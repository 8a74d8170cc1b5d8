"""Calls that need a model have places of their own."""

import asyncio

import pytest

from radref.errors import Overloaded
from radref.service.admission import Admission
from radref.service.guard import Guard

ANSWER, LOOK_UP = "/radref.Gateway/Generate", "/radref.Gateway/GetSource"


def guard(*, own: bool) -> Guard:
    return Guard(
        admission=Admission(1, 0),
        model_admission=Admission(1, 0) if own else None,
        needs_model=frozenset({ANSWER}),
    )


async def entered(guard: Guard, *methods: str) -> None:
    """Holds a place of each method at the same time, in this order."""
    if methods:
        async with guard.around(method=methods[0], authorization=None, request_id=None, timeout=30):
            await asyncio.sleep(0)
            await entered(guard, *methods[1:])


async def test_a_look_up_does_not_stand_behind_an_answer_nor_an_answer_behind_a_look_up() -> None:
    await entered(guard(own=True), ANSWER, LOOK_UP)
    await entered(guard(own=True), LOOK_UP, ANSWER)


@pytest.mark.parametrize("method", [ANSWER, LOOK_UP])
async def test_each_has_only_its_own_places(method: str) -> None:
    with pytest.raises(Overloaded):
        await entered(guard(own=True), method, method)


async def test_without_own_places_all_share() -> None:
    with pytest.raises(Overloaded):
        await entered(guard(own=False), ANSWER, LOOK_UP)
