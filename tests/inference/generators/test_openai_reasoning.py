"""No reasoning trace gets through, however the text is cut into pieces."""

from __future__ import annotations

import json as json_module
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_svc.generators.openai_compatible.reasoning import ReasoningFilter
from radref.errors import Internal


def filtered(pieces: list[str], *, json: bool = False) -> tuple[str, ReasoningFilter]:
    made = ReasoningFilter(json=json)
    shown = "".join(made.feed(piece) for piece in pieces)
    return shown + made.finish(), made


def split(text: str, cuts: list[int]) -> list[str]:
    places = sorted({cut % (len(text) + 1) for cut in cuts} | {0, len(text)})
    return [text[a:b] for a, b in pairwise(places)]


FREE = [
    ("20 мЗв в год", "20 мЗв в год"),
    ("<think>тайна</think>\n\n20 мЗв", "20 мЗв"),
    ("\n <think>\n\n</think>\n\n20 мЗв", "20 мЗв"),
    ("</think>\n\n20 мЗв", "20 мЗв"),
    ("<think>a</think><think>b</think>20", "20"),
    ("[THINK]тайна[/THINK]20", "20"),
    ("<thinking>тайна</thinking> 20", "20"),
    ("<think>тайна", ""),
    ("<think>тайна</thin", ""),
    ("20 <think>тайна</think>мЗв", "20 мЗв"),
    ("20 мЗв <think>тайна", "20 мЗв "),
    ("a < b и [1] или <thin", "a < b и [1] или <thin"),
    ("<thi", "<thi"),
    (" \n", " \n"),
    ("", ""),
    ("\n\n20", "\n\n20"),
]
JSON = [
    ('{"a": "<think>x</think>"}', '{"a": "<think>x</think>"}'),
    ('<think>тайна {"a": 1}</think>\n{"a": "</think>"}', '{"a": "</think>"}'),
    ('тайна, наверное</think>\n\n{"a": "[THINK]"}', '{"a": "[THINK]"}'),
    ('</think>{"a": 1}', '{"a": 1}'),
    ("[1, 2]", "[1, 2]"),
    ("-1", "-1"),
    ('"<think>"', '"<think>"'),
    ("true", "true"),
    ('```json\n{"a": 1}\n```', '```json\n{"a": 1}\n```'),
    ("<think>тайна", ""),
]


@pytest.mark.parametrize(("given_text", "expected"), FREE)
@settings(deadline=None)
@given(cuts=st.lists(st.integers(0, 200), max_size=12))
def test_free_text_without_its_blocks(given_text: str, expected: str, cuts: list[int]) -> None:
    assert filtered(split(given_text, cuts))[0] == expected


@pytest.mark.parametrize(("given_text", "expected"), JSON)
@settings(deadline=None)
@given(cuts=st.lists(st.integers(0, 200), max_size=12))
def test_json_is_never_touched(given_text: str, expected: str, cuts: list[int]) -> None:
    assert filtered(split(given_text, cuts), json=True)[0] == expected


@settings(deadline=None)
@given(
    value=st.dictionaries(st.text(), st.text() | st.sampled_from(["<think>", "</think>", "[THINK]"])),
    cuts=st.lists(st.integers(0, 500), max_size=12),
)
def test_any_json_comes_through_whole(value: dict[str, str], cuts: list[int]) -> None:
    text = json_module.dumps(value, ensure_ascii=False)
    assert filtered(split(text, cuts), json=True)[0] == text


@settings(deadline=None)
@given(
    trace=st.text(st.characters(exclude_characters="</>[]")), cuts=st.lists(st.integers(0, 99), max_size=9)
)
def test_a_block_never_shows(trace: str, cuts: list[int]) -> None:
    shown, made = filtered(split(f"<think>{trace}</think>20 мЗв", cuts))
    assert shown == "20 мЗв"
    assert made.dropped


def test_a_trace_that_was_not_handed_on_yet_is_dropped() -> None:
    assert filtered(["сначала подумаю</think>20 мЗв"])[0] == "20 мЗв"


def test_a_trace_that_was_handed_on_ends_the_answer() -> None:
    made = ReasoningFilter(json=False)
    assert made.feed("сначала подумаю")
    with pytest.raises(Internal, match="reasoning"):
        made.feed("</think>20 мЗв")


def test_plain_text_is_shown_at_once() -> None:
    made = ReasoningFilter(json=False)
    assert made.feed("20") == "20"
    assert made.feed(" мЗв") == " мЗв"
    assert not made.dropped


def test_json_is_shown_at_once() -> None:
    made = ReasoningFilter(json=True)
    assert made.feed('{"a') == '{"a'
