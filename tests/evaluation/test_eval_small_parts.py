from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from evaluation.bounded import for_each
from evaluation.failures import ErrorBudget
from evaluation.results import result_json, write_text
from evaluation.system import Target, parse_target
from radref.errors import DeadlineExceeded, InvalidInput, NotFound, Unavailable


@pytest.mark.parametrize(
    ("values", "target"),
    [
        ([], None),
        (["h:1"], Target("h:1")),
        (["h:1, g:2"], Target("h:1", "g:2")),
        (["h:1", "[::1]:2"], Target("h:1", "[::1]:2")),
    ],
)
def test_targets(values: list[str], target: Target | None) -> None:
    assert parse_target(values) == target


@pytest.mark.parametrize("values", [["h"], ["h:0"], ["h:99999"], [":1"], ["h:x"], ["a:1,b:2,c:3"]])
def test_wrong_targets(values: list[str]) -> None:
    with pytest.raises(InvalidInput):
        parse_target(values)


async def test_for_each_keeps_its_window_and_takes_all() -> None:
    running, most, seen = 0, 0, []

    async def work(item: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        seen.append(item)

    await for_each(range(50), work, window=4)
    assert sorted(seen) == list(range(50))
    assert most == 4


async def test_for_each_raises_the_first_error_plainly() -> None:
    async def work(item: int) -> None:
        if item == 3:
            raise NotFound("three")

    with pytest.raises(NotFound, match="three"):
        await for_each(range(50), work, window=4)


async def test_for_each_does_not_hide_defects() -> None:
    async def work(item: int) -> None:
        raise ValueError(item)

    with pytest.raises(BaseExceptionGroup):
        await for_each([1], work, window=1)


def test_the_error_budget_is_five_percent() -> None:
    budget = ErrorBudget(40)
    budget.spend(DeadlineExceeded("slow"))
    budget.spend(DeadlineExceeded("slow"))
    assert budget.summary() == "2 x DEADLINE"
    with pytest.raises(Unavailable, match="3 of 40"):
        budget.spend(NotFound("gone"))


def test_result_json_rounds_and_refuses_what_json_lacks() -> None:
    assert json.loads(result_json({"a": 1 / 3, "b": [(0.12345, None)], "c": {"d": True}})) == {
        "a": 0.3333,
        "b": [[0.1235, None]],
        "c": {"d": True},
    }
    with pytest.raises(ValueError, match="JSON"):
        result_json({"a": float("nan")})


def test_write_text_replaces_and_names_a_place_it_cannot_write(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b.json"
    write_text(place, "one")
    write_text(place, "два")
    assert place.read_text(encoding="utf-8") == "два"
    assert [path.name for path in place.parent.iterdir()] == ["b.json"]
    with pytest.raises(InvalidInput, match="Cannot write"):
        write_text(place / "c.json", "three")
