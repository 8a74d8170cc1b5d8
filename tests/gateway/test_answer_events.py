"""A streamed answer: what comes when, what is held back, and what happens when the generator misbehaves."""

import json
from contextlib import aclosing
from dataclasses import replace

import pytest

from gateway.model import AbstentionReason, Answer, AnswerEvent, Filters, NoticeKind, Outcome, Sources
from gateway.pipeline import Pipeline
from gateway.validation import Action, ValidatedStatement, ValidationPolicy
from radref.errors import Unavailable
from tests.gateway.test_pipeline import GOOD, STRONG, TEXT, output, pipeline

INVENTED = {"text": "Up to 50 mSv.", "citations": [{"id": "b" * 20, "quote": TEXT}]}
WRONG_NUMBER = {**GOOD, "text": "The limit is 50 mSv a year."}
ASKED = "Eye lens limit?"


async def events_of(made: Pipeline) -> list[AnswerEvent]:
    async with aclosing(made.answer_events(ASKED, Filters())) as events:
        return [event async for event in events]


async def test_sources_then_statements_then_the_whole_answer() -> None:
    made, _, _ = pipeline(STRONG, output(GOOD, INVENTED, GOOD))
    sources, *statements, answer = await events_of(made)
    assert isinstance(sources, Sources)
    assert len(sources.parents) == 5
    assert all(isinstance(event, ValidatedStatement) for event in statements)
    assert isinstance(answer, Answer)
    assert list(answer.statements) == statements
    assert answer.validation.citations_unknown == 1
    assert (await made.answer(ASKED, Filters())).statements == answer.statements


async def test_a_statement_comes_before_the_generator_is_done() -> None:
    text = output(GOOD, *[INVENTED] * 20)
    made, _, generating = pipeline(STRONG, text)
    async with aclosing(made.answer_events(ASKED, Filters())) as events:
        await anext(events)
        assert generating.written == 0
        assert isinstance(await anext(events), ValidatedStatement)
        assert generating.written < len(text) / 2


async def test_who_stops_listening_stops_the_generator() -> None:
    made, _, generating = pipeline(STRONG, output(*[GOOD] * 30))
    async with aclosing(made.answer_events(ASKED, Filters())) as events:
        await anext(events)
        await anext(events)
    assert generating.closed == 1
    assert generating.written < 30 * len(json.dumps(GOOD))


async def test_unreadable_output_is_asked_for_once_more() -> None:
    made, _, generating = pipeline(STRONG, "Sure! The limit is 20 mSv.", output(GOOD))
    answer = await made.answer(ASKED, Filters())
    assert answer.outcome is Outcome.ANSWERED
    assert (answer.prompt_tokens, answer.completion_tokens) == (20, 10)
    first, second = (messages for _, _, messages in generating.calls)
    assert "not JSON" in second[-1].content
    assert "Sure!" not in second[-1].content
    assert second[:-1] == first[:-1]


async def test_output_that_stays_unreadable_is_an_abstention_without_a_third_attempt() -> None:
    made, _, generating = pipeline(STRONG, '{"statements": 1}')
    answer = await made.answer(ASKED, Filters())
    assert len(generating.calls) == 2
    assert answer.outcome is Outcome.ABSTAINED
    assert answer.abstention is not None
    assert answer.abstention.reason is AbstentionReason.NO_VALID_CITATION
    assert "could not be read" in answer.abstention.message


async def test_output_that_breaks_after_a_statement_is_a_partial_answer() -> None:
    made, _, generating = pipeline(STRONG, output(GOOD)[:-2] + ", {{{")
    answer = await made.answer(ASKED, Filters())
    assert len(generating.calls) == 1
    assert answer.outcome is Outcome.PARTIALLY_ANSWERED
    assert len(answer.statements) == 1
    assert [notice.kind for notice in answer.notices] == [NoticeKind.MISSING_INFORMATION]


async def test_endless_output_is_cut_off_and_not_asked_for_again() -> None:
    made, _, generating = pipeline(STRONG, "[" * 1_000_000)
    answer = await made.answer(ASKED, Filters())
    assert answer.outcome is Outcome.ABSTAINED
    assert len(generating.calls) == 1
    assert generating.written < 10_000
    assert generating.closed == 1


async def test_an_answer_cut_off_at_the_token_cap_keeps_its_statements() -> None:
    made, _, _ = pipeline(STRONG, output(GOOD, GOOD)[:-60], cut_off=True)
    answer = await made.answer(ASKED, Filters())
    assert answer.outcome is Outcome.PARTIALLY_ANSWERED
    assert len(answer.statements) == 1


async def test_a_generator_that_dies_is_an_error_after_checked_statements() -> None:
    made, _, generating = pipeline(STRONG, output(GOOD, GOOD))
    alive = generating.generate

    async def dying(**asked):
        async for piece in alive(**asked):
            if generating.written > 400:
                raise Unavailable("the generator stopped in the middle of its answer")
            yield piece

    generating.generate = dying  # type: ignore[method-assign]
    seen: list[AnswerEvent] = []

    async def listen() -> None:
        async with aclosing(made.answer_events(ASKED, Filters())) as events:
            async for event in events:
                seen.append(event)  # noqa: PERF401 - kept also when it fails

    with pytest.raises(Unavailable):
        await listen()
    assert isinstance(seen[0], Sources)
    assert all(isinstance(event, ValidatedStatement) for event in seen[1:])
    with pytest.raises(Unavailable):
        await made.answer(ASKED, Filters())


async def test_nothing_is_shown_early_where_one_statement_can_refuse_the_whole_answer() -> None:
    policy = ValidationPolicy(unsupported_number=Action.ABSTAIN)
    made, _, _ = pipeline(STRONG, output(GOOD, WRONG_NUMBER), policy=policy)
    sources, answer = await events_of(made)
    assert isinstance(sources, Sources)
    assert isinstance(answer, Answer)
    assert answer.outcome is Outcome.ABSTAINED


async def test_reported_contradictions_without_a_statement_are_a_conflict() -> None:
    conflict = {"citation_ids": [f"{0:020x}", f"{1:020x}"], "description": "They differ."}
    text = json.dumps({"insufficient": False, "conflicts": [conflict], "statements": []})
    made, _, _ = pipeline(STRONG, text)
    answer = await made.answer(ASKED, Filters())
    assert answer.abstention is not None
    assert answer.abstention.reason is AbstentionReason.CONFLICT


@pytest.mark.parametrize(
    "missing",
    [
        "The limit is 50 mSv, take that.",
        "see https://example.org",
        "<script>alert(1)</script>",
        f"source {'a' * 20}",
        "word " * 500,
    ],
)
async def test_what_a_model_says_is_missing_is_no_way_around_the_validator(missing: str) -> None:
    made, _, _ = pipeline(STRONG, output(GOOD, insufficient=True, missing=missing))
    answer = await made.answer(ASKED, Filters())
    (notice,) = answer.notices
    assert notice.kind is NoticeKind.MISSING_INFORMATION
    assert missing.strip() not in notice.message


async def test_a_prompt_too_long_leaves_out_whole_passages_and_says_so() -> None:
    long = "The annual limit for the eye lens of a worker is twenty millisievert. " * 150
    parents = tuple(replace(parent, passage=replace(parent.passage, text=long)) for parent in STRONG.parents)
    made, _, generating = pipeline(replace(STRONG, parents=parents))
    answer = await made.answer(ASKED, Filters())
    sent = generating.calls[0][1]
    assert 0 < len(sent) < 5
    assert len(answer.parents) == len(sent)
    (notice,) = [n for n in answer.notices if n.kind is NoticeKind.CONTEXT_TRUNCATED]
    assert notice.citation_ids == tuple(p.passage.citation_id for p in parents[len(sent) : 5])
    shown = await made.prompt(ASKED, Filters())
    assert [p.passage.citation_id for p in shown.parents] == [p.passage.citation_id for p in sent]
