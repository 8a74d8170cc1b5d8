"""Documents that are not in force: behind the others, not beside their successor, never cited silently."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gateway.model import DocumentInfo, NoticeKind, Passage, RankedPassage, Validity
from gateway.validity import for_generation, in_force_first, not_in_force

DAY = datetime(2020, 1, 2, tzinfo=UTC)


def parent(
    document: str, score: float, validity: Validity = Validity.IN_FORCE, by: str = ""
) -> RankedPassage:
    passage = Passage(
        citation_id=f"c-{document}",
        document_id=document,
        version=1,
        ordinal=0,
        text="t",
        section_path=(),
        document=DocumentInfo(title=f"Law {document}", topic="safety", language="en"),
        validity=validity,
        superseded_by=by,
    )
    return RankedPassage(passage, score, ())


def ids(parents: tuple[RankedPassage, ...]) -> list[str]:
    return [one.passage.document_id for one in parents]


def test_in_force_first_keeps_the_order_of_each_side() -> None:
    parents = [
        parent("a", 4, Validity.EXPIRED),
        parent("b", 3),
        parent("c", 2, Validity.NOT_YET),
        parent("d", 1, Validity.UNKNOWN),
    ]
    assert ids(in_force_first(parents)) == ["b", "d", "a", "c"]


def test_a_document_is_not_quoted_beside_its_successor() -> None:
    parents = (parent("new", 1), parent("other", 1), parent("old", 9, Validity.SUPERSEDED, "new"))
    assert ids(for_generation(parents, 3)) == ["new", "other"]
    assert ids(for_generation(parents[1:], 3)) == ["other", "old"]


def test_the_best_passage_is_read_though_it_is_not_in_force() -> None:
    parents = (*(parent(f"p{n}", 5 - n) for n in range(4)), parent("gone", 9, Validity.EXPIRED))
    assert ids(for_generation(parents, 3)) == ["p0", "p1", "gone"]
    assert ids(for_generation(parents, 5)) == ["p0", "p1", "p2", "p3", "gone"]
    reranked = tuple(replace(one, rerank_score=0.0 if n == 4 else 0.5) for n, one in enumerate(parents))
    assert ids(for_generation(reranked, 3)) == ["p0", "p1", "p2"]
    assert for_generation((), 3) == ()


@pytest.mark.parametrize(
    ("question", "old", "words"),
    [
        ("limit?", replace(parent("o", 1, Validity.SUPERSEDED, "n").passage, superseded_at=DAY),
         ["Law o", "superseded by Law n (n)", "since 2020-01-02"]),
        ("limit?", parent("o", 1, Validity.SUPERSEDED, "far").passage, ["superseded by far."]),
        ("предел?", replace(parent("o", 1, Validity.SUPERSEDED, "n").passage, superseded_at=DAY),
         ["Law o", "заменён", "Law n (n)", "с 02.01.2020"]),
        ("limit?", replace(parent("o", 1, Validity.EXPIRED, "n").passage,
                           document=DocumentInfo("Law o", "safety", "en", effective_until=DAY)),
         ["no longer in force", "2020-01-02", "Law n (n)"]),
        ("предел?", replace(parent("o", 1, Validity.NOT_YET).passage,
                            document=DocumentInfo("Law o", "safety", "ru", effective_from=DAY)),
         ["ещё не действует", "02.01.2020"]),
    ],
)  # fmt: skip
def test_a_cited_document_that_is_not_in_force_is_said(question: str, old: Passage, words: list[str]) -> None:
    parents = [parent("n", 2), RankedPassage(old, 1, ())]
    (notice,) = not_in_force(question, parents, ["c-o", "c-n"])
    assert notice.kind is NoticeKind.NOT_IN_FORCE
    assert notice.citation_ids == ("c-o",)
    assert all(word in notice.message for word in words), notice.message
    assert not_in_force(question, parents, ["c-n"]) == ()
