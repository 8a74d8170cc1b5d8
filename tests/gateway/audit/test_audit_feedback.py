"""Which feedback is stored, on what, and how often."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from gateway.audit.database import AuditDatabase
from gateway.audit.feedback import FeedbackBox
from gateway.audit.feedback_rules import accepted_feedback
from gateway.audit.model import AuditFilter, Criterion, Feedback, FeedbackFilter
from radref.errors import InvalidInput, NotFound
from tests.gateway.audit.audit_kit import IDS, NOW, RECORD, make_trail, numbered

ALL = tuple((criterion, mark) for criterion, mark in zip(Criterion, (1, 2, 3, 4, 5, 5), strict=True))


async def test_feedback_comes_back_with_its_request(any_database: AuditDatabase) -> None:
    box = FeedbackBox(any_database, clock=lambda: NOW)
    await make_trail(any_database).record(RECORD)
    given = Feedback("r1", ALL, ((IDS[0], 5), (IDS[3], 1)), "Всё верно.\nСпасибо")
    feedback_id = await box.submit(given, "ann")
    (stored,) = (await box.page(FeedbackFilter())).entries
    assert stored.feedback == given
    assert (stored.feedback_id, stored.at, stored.actor) == (feedback_id, NOW, "ann")
    assert (stored.method, stored.query_hash, stored.outcome) == ("Generate", "a" * 64, RECORD.outcome)


async def test_a_second_verdict_of_the_same_user_replaces_the_first(any_database: AuditDatabase) -> None:
    times = iter(NOW + timedelta(minutes=minute) for minute in range(9))
    box = FeedbackBox(any_database, clock=lambda: next(times))
    await make_trail(any_database).record(RECORD)
    first = await box.submit(Feedback("r1", ALL, comment="bad"), "ann")
    other = await box.submit(Feedback("r1", comment="fine"), "bob")
    assert await box.submit(Feedback("r1", ALL[:1]), "ann") == first != other
    ann, bob = (await box.page(FeedbackFilter())).entries
    assert (ann.feedback.ratings, ann.feedback.comment) == (ALL[:1], "")
    assert ann.at == NOW + timedelta(minutes=2)
    assert bob.feedback.comment == "fine"


async def test_simultaneous_verdicts_of_one_user_are_one(any_database: AuditDatabase) -> None:
    box = FeedbackBox(any_database)
    await make_trail(any_database).record(RECORD)
    given = (box.submit(Feedback("r1", comment=f"c{number}"), "ann") for number in range(12))
    assert len(set(await asyncio.gather(*given))) == 1
    assert len((await box.page(FeedbackFilter())).entries) == 1


@pytest.mark.parametrize("request_id", ["", "r2", "a" * 65, "r1\x00", "'; DROP TABLE audit_requests; --"])
async def test_unknown_requests_are_refused(any_database: AuditDatabase, request_id: str) -> None:
    await make_trail(any_database).record(RECORD)
    with pytest.raises(NotFound) as caught:
        await FeedbackBox(any_database).submit(Feedback(request_id, ALL), "ann")
    assert (caught.value.reason, caught.value.field) == ("UNKNOWN_REQUEST", "request_id")


async def test_feedback_on_an_id_used_twice_is_on_the_newest(database: AuditDatabase) -> None:
    trail, box = make_trail(database), FeedbackBox(database)
    await trail.record(numbered(2, request_id="same", citation_ids=IDS[4:5], uncited_ids=()))
    await trail.record(numbered(1, request_id="same"))
    await box.submit(Feedback("same", passages=((IDS[4], 3),)), "ann")
    with pytest.raises(InvalidInput):
        await box.submit(Feedback("same", passages=((IDS[0], 3),)), "ann")


async def test_only_passages_that_were_returned_are_marked(any_database: AuditDatabase) -> None:
    box = FeedbackBox(any_database)
    await make_trail(any_database).record(RECORD)
    await box.submit(Feedback("r1", passages=((IDS[0].upper(), 3), (IDS[2], 3))), "ann")
    with pytest.raises(InvalidInput, match="did not return") as caught:
        await box.submit(Feedback("r1", passages=((IDS[0], 3), (IDS[8], 3))), "ann")
    assert (caught.value.reason, caught.value.field) == ("INVALID_FIELD", "passages[1].citation_id")


@pytest.mark.parametrize(
    ("feedback", "reason", "field"),
    [
        (
            Feedback("r", ((Criterion.CLARITY, 1), (Criterion.RELEVANCE, 6))),
            "OUT_OF_RANGE",
            "ratings[1].rating",
        ),
        (Feedback("r", ((Criterion.CLARITY, 0),)), "OUT_OF_RANGE", "ratings[0].rating"),
        (
            Feedback("r", ((Criterion.CLARITY, 1), (Criterion.CLARITY, 1))),
            "INVALID_FIELD",
            "ratings[1].criterion",
        ),
        (Feedback("r", passages=((IDS[0], 0),)), "OUT_OF_RANGE", "passages[0].usefulness"),
        (Feedback("r", passages=(("xyz", 3),)), "INVALID_FIELD", "passages[0].citation_id"),
        (Feedback("r", passages=((IDS[0], 3), (IDS[0], 4))), "INVALID_FIELD", "passages[1].citation_id"),
        (Feedback("r", comment="a" * 4001), "TEXT_TOO_LONG", "comment"),
        (Feedback("r", comment="a\x00b"), "INVALID_FIELD", "comment"),
        (Feedback("r", comment="a\x1b[31m"), "INVALID_FIELD", "comment"),
        (Feedback("r", comment=" \n"), "INVALID_FIELD", "ratings"),
        (Feedback("r"), "INVALID_FIELD", "ratings"),
    ],
)
def test_unusable_feedback_is_refused(feedback: Feedback, reason: str, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        accepted_feedback(feedback)
    assert (caught.value.reason, caught.value.field) == (reason, field)


def test_comments_keep_their_lines() -> None:
    assert accepted_feedback(Feedback("r", comment="  a\r\nb\tc\rd\u2028e ")).comment == "a\nb\tc\nd\ne"
    assert len(accepted_feedback(Feedback("r", comment="я" * 4000)).comment) == 4000


async def test_feedback_is_found_and_paged(any_database: AuditDatabase) -> None:
    times = iter(NOW + timedelta(minutes=minute // 2) for minute in range(99))
    trail, box = make_trail(any_database), FeedbackBox(any_database, clock=lambda: next(times))
    for number in range(7):
        await trail.record(numbered(number))
        await box.submit(Feedback(f"r{number}", comment=str(number)), "ann" if number % 2 else "bob")

    async def comments(wanted: FeedbackFilter) -> list[str]:
        found, token = [], ""
        while True:
            page = await box.page(wanted, size=2, token=token)
            found += [entry.feedback.comment for entry in page.entries]
            token = page.next_token
            if not token:
                return found

    assert await comments(FeedbackFilter()) == list("6543210")
    assert await comments(FeedbackFilter(actor="ann")) == list("531")
    assert await comments(FeedbackFilter(request_id="r4")) == ["4"]
    assert await comments(FeedbackFilter(since=NOW + timedelta(minutes=1))) == list("65432")
    assert await comments(FeedbackFilter(until=NOW + timedelta(minutes=1))) == list("10")
    of_requests = (await trail.query(AuditFilter(), size=2)).next_token
    with pytest.raises(InvalidInput):
        await box.page(FeedbackFilter(), token=of_requests)
