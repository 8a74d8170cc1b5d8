from __future__ import annotations

import math
from dataclasses import replace

import pytest

from radref.errors import InvalidInput
from retrieval_svc.staging import Batch, NewChild, StageChecker, StageHeader, check_header
from tests.retrieval.retrieval_kit import batch, header

TOPICS = ("safety", "physics")
GOOD = batch("d", 1, ["Доза не выше 20 мЗв", "Second text"], pieces=2)


def checker(parents: int = 2, children: int = 4) -> StageChecker:
    return StageChecker(header("d", 1, parents, children))


def test_good_stream() -> None:
    one = checker()
    one.accept(Batch(GOOD.parents, ()))
    one.accept(Batch((), GOOD.children))
    one.finish()


def refused(reason: str, *batches: Batch, parents: int = 2, children: int = 4) -> InvalidInput:
    def follow() -> None:
        one = checker(parents, children)
        for each in batches:
            one.accept(each)
        one.finish()

    with pytest.raises(InvalidInput) as caught:
        follow()
    assert caught.value.reason == reason
    return caught.value


def changed(**values: object) -> Batch:
    child: NewChild = replace(GOOD.children[0], **values)  # type: ignore[arg-type]
    return Batch(GOOD.parents, [child, *GOOD.children[1:]])


@pytest.mark.parametrize(("start", "end"), [(5, 5), (6, 5), (0, 20), (19, 20)])
def test_span_must_lie_inside(start: int, end: int) -> None:
    assert len(GOOD.parents[0].text) == 19
    refused("INVALID_SPAN", changed(start=start, end=end))


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_vector_must_be_finite(broken: float) -> None:
    refused("INVALID_FIELD", changed(vector=[broken, *list(GOOD.children[0].vector)[1:]]))


def test_vector_must_be_unit_and_of_one_length() -> None:
    refused("INVALID_FIELD", changed(vector=[2 * value for value in GOOD.children[0].vector]))
    refused("INVALID_FIELD", changed(vector=[0.0] * 32))
    refused("INVALID_FIELD", changed(vector=[1.0]))
    refused("INVALID_FIELD", changed(vector=[]))


def test_order_and_counts() -> None:
    refused("STREAM_PROTOCOL", Batch((), GOOD.children))
    refused("STREAM_PROTOCOL", Batch(GOOD.parents[:1], ()), Batch((), GOOD.children))
    refused("STREAM_PROTOCOL", Batch(GOOD.parents, GOOD.children[:3]))
    refused("STREAM_PROTOCOL", GOOD, children=3)
    refused("STREAM_PROTOCOL")


def test_duplicates_and_ids() -> None:
    refused("INVALID_FIELD", GOOD, Batch(GOOD.parents, ()))
    refused("INVALID_FIELD", GOOD, Batch((), GOOD.children))
    refused("INVALID_FIELD", Batch([replace(GOOD.parents[0], citation_id="xyz")], ()))
    refused("EMPTY_TEXT", Batch([replace(GOOD.parents[0], text=" ")], ()))
    refused("OUT_OF_RANGE", Batch([replace(GOOD.parents[0], pages=(0, 1))], ()))
    refused("OUT_OF_RANGE", Batch(GOOD.parents * 129, ()))


@pytest.mark.parametrize(
    ("head", "reason", "field"),
    [
        (header("", 1, 1, 1), "EMPTY_TEXT", "header.document_id"),
        (header("d" * 129, 1, 1, 1), "TEXT_TOO_LONG", "header.document_id"),
        (header("d", 0, 1, 1), "OUT_OF_RANGE", "header.version"),
        (header("d", 1, 0, 1), "OUT_OF_RANGE", "header.parent_count"),
        (header("d", 1, 1, 0), "OUT_OF_RANGE", "header.child_count"),
        (header("d", 1, 1, 1, topic="cardiology"), "UNKNOWN_TOPIC", "header.metadata.topic"),
        (header("d", 1, 1, 1, title=""), "EMPTY_TEXT", "header.metadata.title"),
        (header("d", 1, 1, 1, language="x" * 17), "TEXT_TOO_LONG", "header.metadata.language"),
        (header("d", 1, 1, 1, year=1700), "OUT_OF_RANGE", "header.metadata.year"),
        (replace(header("d", 1, 1, 1), embedder_fingerprint=""), "EMPTY_TEXT", "header.embedder_fingerprint"),
    ],
)
def test_header_refused(head: StageHeader, reason: str, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_header(head, TOPICS)
    assert (caught.value.reason, caught.value.field) == (reason, field)
