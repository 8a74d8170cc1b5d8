"""Equal parents of different documents: one is listed, the others are named."""

from __future__ import annotations

import pytest

from retrieval_svc.duplicates import text_key
from retrieval_svc.profiles import PAPER
from retrieval_svc.query import Limits, Query
from tests.retrieval.retrieval_kit import Kit, beside

SAME = "The dose limit for workers is 20 mSv per year"


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("Доза 20 мЗв", "Доза\n\n20\u00a0 мЗв ", True),
        ("ра\u00adдиация", "радиация", True),
        ("й", "и\u0306", True),
        ("20 mSv", "20 MSv", False),
        ("10² Gy", "102 Gy", False),
        ("-5", "5", False),
        ("≤ 20", "≥ 20", False),
    ],
)
def test_what_counts_as_the_same_text(left: str, right: str, equal: bool) -> None:
    assert (text_key(left) == text_key(right)) is equal


async def found(kit: Kit, **options: object) -> list[tuple[str, list[str]]]:
    retrieval = await kit.retriever.retrieve(Query("dose limit for workers", **options))  # type: ignore[arg-type]
    return [(one.record.document_id, list(one.duplicates)) for one in retrieval.parents]


async def test_duplicates_are_collapsed_and_their_places_filled(kit: Kit) -> None:
    for document in "abcdefghijklmnopqrst":
        await kit.put(document, 1, [SAME], topic="safety" if document < "m" else "physics")
    await kit.put("z", 1, [f"dose number {number}" for number in range(12)])
    listed = await found(kit)
    assert len(listed) == 13
    first, others = listed[0]
    assert sorted([first, *others]) == list("abcdefghijklmnopqrst")
    assert all(one == ("z", []) for one in listed[1:])
    assert await found(kit) == listed, "the same question is answered the same way"
    assert len(await found(kit, limits=Limits(parents=2))) == 2
    paper = await beside(kit, profile=PAPER)
    assert len([one for one in await found(paper) if one[0] != "z"]) == 1


async def test_one_document_may_say_it_twice(kit: Kit) -> None:
    await kit.put("a", 1, [SAME, SAME])
    assert await found(kit) == [("a", []), ("a", [])]
    await kit.put("b", 1, [SAME])
    listed = await found(kit)
    # The text is once in one document and twice in the other; whichever stays names the other.
    assert listed in ([("a", ["b"]), ("a", [])], [("b", ["a"])])


async def test_the_one_in_force_is_kept(kit: Kit) -> None:
    for number in range(6):
        await kit.put(f"old-{number}", 1, [SAME])
    await kit.put("new", 1, [SAME], supersedes=tuple(f"old-{number}" for number in range(6)))
    assert await found(kit) == [("new", [f"old-{number}" for number in range(6)])]
