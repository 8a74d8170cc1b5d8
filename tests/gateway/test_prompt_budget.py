"""How many passages fit into the prompt."""

from dataclasses import replace

import pytest

from gateway.prompting.budget import estimated_tokens, prompt_within
from gateway.prompting.prompt import build_prompt
from tests.gateway.test_pipeline import STRONG

QUESTION = "Eye lens limit?"
LONG = tuple(
    replace(parent, passage=replace(parent.passage, text="дозы 20 мЗв " * 100)) for parent in STRONG.parents
)


def size(count: int) -> int:
    messages = build_prompt(QUESTION, [parent.passage for parent in LONG[:count]])
    return sum(estimated_tokens(message.content) for message in messages)


@pytest.mark.parametrize("count", [0, 1, 3, 13])
def test_as_many_whole_passages_as_fit_are_in_it(count: int) -> None:
    messages, room = prompt_within(QUESTION, LONG, size(count) + 20)
    assert room == count
    assert messages == build_prompt(QUESTION, [parent.passage for parent in LONG[:count]])


def test_the_bound_holds() -> None:
    for bound in range(size(0), size(4), 97):
        messages, _ = prompt_within(QUESTION, LONG, bound)
        assert sum(estimated_tokens(message.content) for message in messages) <= bound


def test_digits_count_as_tokens_and_three_other_bytes_as_one() -> None:
    assert estimated_tokens("") == 0
    assert estimated_tokens("123456") == 6
    assert estimated_tokens("abcdef") == 2
    assert estimated_tokens("доза") == 3
