from __future__ import annotations

import pytest

from evaluation.qa_metrics import Observation, qa_figures
from evaluation.questions import Question

TOP_KEYS = [
    "n",
    "evidence_hit@1",
    "evidence_hit@5",
    "evidence_hit@13",
    "evidence_all@5",
    "by_level",
    "by_language",
    "answered",
    "abstention",
    "latency_ms",
]


def asked(
    name: str, *, quotes: int = 2, facts: int = 2, level: str = "0", language: str = "en", doc: str = "en"
) -> Question:
    return Question(name, "q", language, doc, True, level, "doc", "1", ("quote",) * quotes, ("fact",) * facts)


def refusable(name: str, language: str = "en") -> Question:
    return Question(name, "q", language, language, False)


ANSWERED = Observation(asked("a"), False, 100, (1, 6), (13, 2), 1, 4, 3, 2)
ABSTAINED = Observation(asked("b", level="1", language="ru"), True, 200, (5, 3), (None, 14))
MISSED = Observation(asked("c", quotes=1, facts=4), False, 300, (None,), (None,), 4, 1, 0, 0)
REFUSED = Observation(refusable("u"), True, 400)
INVENTED = Observation(refusable("v", "ru"), False, 500)


def test_figures_by_hand() -> None:
    figures, intervals = qa_figures([ANSWERED, ABSTAINED, MISSED, REFUSED, INVENTED])
    assert list(figures) == TOP_KEYS
    assert figures["n"] == 5
    assert figures["evidence_hit@1"] == pytest.approx(1 / 3)
    assert figures["evidence_hit@5"] == pytest.approx(2 / 3)
    assert figures["evidence_hit@13"] == pytest.approx(1 / 3)
    assert figures["evidence_all@5"] == pytest.approx(1 / 3)
    assert figures["answered"] == {
        "n": 2,
        "facts_recall": pytest.approx((1 / 2 + 4 / 4) / 2),
        "citation_precision": pytest.approx(3 / 5),
        "citation_recall": pytest.approx(2 / 3),
    }
    assert figures["abstention"] == {
        "precision": pytest.approx(1 / 2),
        "recall": pytest.approx(1 / 2),
        "false_abstention_rate": pytest.approx(1 / 3),
    }
    assert figures["latency_ms"] == {"p50": pytest.approx(300), "p95": pytest.approx(480)}
    assert list(figures["by_level"]) == ["0", "1"]
    assert figures["by_level"]["0"]["n"] == 2
    assert figures["by_level"]["1"]["evidence_all@5"] == 1
    assert figures["by_language"]["ru>en"]["n"] == 1
    assert figures["by_language"]["ru"]["n"] == 1
    assert figures["by_language"]["en"]["n"] == 3
    assert sum(group["n"] for group in figures["by_language"].values()) == 5
    low, high = intervals["abstention"]["recall"]
    assert 0 <= low <= 0.5 <= high <= 1
    assert set(intervals) == set(figures) - {"n"}


def test_intervals_have_the_figures_paths() -> None:
    def paths(tree: object, prefix: str = "") -> set[str]:
        if not isinstance(tree, dict):
            return {prefix}
        return {path for key, item in tree.items() for path in paths(item, f"{prefix}/{key}")}

    figures, intervals = qa_figures([ANSWERED, ABSTAINED, REFUSED])
    assert paths(intervals) == {path for path in paths(figures) if not path.endswith("/n")}


def test_a_group_without_refusable_questions_has_no_abstention_precision() -> None:
    figures, _ = qa_figures([ANSWERED, ABSTAINED])
    assert figures["abstention"] == {"precision": None, "recall": None, "false_abstention_rate": 0.5}


def test_everything_refused() -> None:
    figures, intervals = qa_figures([ABSTAINED, REFUSED])
    assert figures["answered"] == {
        "n": 0,
        "facts_recall": None,
        "citation_precision": None,
        "citation_recall": None,
    }
    assert intervals["answered"]["facts_recall"] is None
    assert figures["abstention"]["precision"] == 0.5


def test_no_answerable_question() -> None:
    figures, _ = qa_figures([REFUSED, INVENTED])
    assert figures["evidence_hit@1"] is None
    assert figures["abstention"] == {"precision": 1, "recall": 0.5, "false_abstention_rate": None}
    assert figures["by_level"] == {}


def test_nothing_at_all() -> None:
    figures, intervals = qa_figures([])
    assert figures["n"] == 0
    assert figures["latency_ms"] == {"p50": None, "p95": None}
    assert intervals["latency_ms"] == {"p50": None, "p95": None}


def test_questions_without_quotes_or_facts_do_not_count_there() -> None:
    bare = Observation(asked("d", quotes=0, facts=0), False, 10, citations=2, citations_supported=2)
    figures, _ = qa_figures([bare, ANSWERED])
    assert figures["evidence_hit@1"] == 1
    assert figures["answered"]["facts_recall"] == 0.5
    assert figures["answered"]["citation_precision"] == pytest.approx(5 / 6)
