from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from evaluation.peers.formats import Parent
from evaluation.peers.measure import WARM_UP, measure
from evaluation.peers.report import result, table
from evaluation.peers.systems import Found, child_pieces, first_passages
from evaluation.questions import Question


@dataclass
class Scripted:
    """Finds the gold quote at a given rank; writes down when it was asked."""

    label: str
    rank: int
    log: list[str]
    pieces: Sequence[str] = field(default_factory=list)

    async def search(self, query: str) -> Found:
        self.log.append(self.label)
        passages = ["nothing"] * 13
        passages[self.rank - 1] = f"the evidence for {query}"
        return Found(tuple(passages), 0.02, 0.01)


QUESTIONS = [
    Question(f"q{n}", f"query {n}", "en", "en", True, gold_quotes=(f"evidence for query {n}",))
    for n in range(WARM_UP + 1)
]


async def measured(rounds: int = 2) -> tuple[list[str], dict[str, object]]:
    log: list[str] = []
    systems = [Scripted("radref", 1, log), Scripted("peer", 6, log)]
    done: list[None] = []
    items = await measure(systems, QUESTIONS, rounds=rounds, on_done=lambda: done.append(None))
    assert len(done) == rounds * len(QUESTIONS)
    chunks = {name: {"count": 3, "median_tokens": 200, "truncated": 0} for name in ("radref", "peer")}
    return log, result(
        items,
        QUESTIONS,
        chunks=chunks,
        passage_tokens={"radref": 4000.0, "peer": None},
        meta={"settings": {}},
    )


async def test_systems_take_turns_and_the_first_one_changes() -> None:
    log, _ = await measured(rounds=1)
    timed = log[2 * WARM_UP :]
    assert len(timed) == 2 * len(QUESTIONS)
    assert timed[:4] == ["radref", "peer", "peer", "radref"]


async def test_warm_up_is_in_no_figure_and_every_round_is_timed() -> None:
    _, outcome = await measured(rounds=2)
    radref = outcome["systems"]["radref"]  # type: ignore[index]
    assert radref["evidence_hit@1"] == 1.0
    assert round(radref["queries_per_second"]) == 50
    assert round(radref["queries_per_second_without_embedding"]) == 100
    assert radref["quote_ranks"] == {question.id: [1] for question in QUESTIONS}


async def test_the_table_has_a_row_a_system_and_the_pairs() -> None:
    _, outcome = await measured()
    header, _, first, second = table(outcome).splitlines()
    assert "hit@13" in header
    assert header.count("|") == first.count("|") == second.count("|")
    assert first.startswith("| radref | 3 (200) | 4000 | 100.0 | 100.0 (100-100) | 100.0 | 100.0 |  |")
    assert second.startswith("| peer | 3 (200) | - | 0.0 | 0.0 (0-0) | 100.0 | 0.0 | 6 : 0 |")


async def test_versions_of_what_is_not_installed_are_null() -> None:
    _, outcome = await measured()
    packages = outcome["meta"]["packages"]  # type: ignore[index]
    assert packages["numpy"]
    assert set(packages) >= {"haystack-ai", "haiku.rag-slim", "lancedb"}


def test_a_child_stands_for_its_parent_and_parents_come_once() -> None:
    parents = [
        Parent("a", "d", 0, "first second", ((0, 5), (6, 12))),
        Parent("b", "d", 1, "third", ((0, 5),)),
    ]
    pieces = child_pieces(parents)
    assert [piece.text for piece in pieces] == ["first", "second", "third"]
    ranked = [(piece.key, piece.passage) for piece in (pieces[1], pieces[0], pieces[2])]
    assert first_passages(ranked) == ("first second", "third")
    assert first_passages(ranked, limit=1) == ("first second",)
