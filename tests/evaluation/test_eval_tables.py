from __future__ import annotations

from io import StringIO

from rich.console import Console
from rich.table import Table

from evaluation.qa_metrics import Observation, qa_figures
from evaluation.questions import Question
from evaluation.tables import qa_tables, retrieval_table


def shown(*tables: Table) -> str:
    console = Console(file=StringIO(), width=80)
    for table in tables:
        console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_undefined_figures_are_dashes_and_nothing_is_cut_at_80_columns() -> None:
    observation = Observation(Question("u", "q", "ru", "ru", False), True, 12.0)
    for observations in ([], [observation]):
        figures, intervals = qa_figures(observations)
        text = shown(*qa_tables({**figures, "ci95": intervals}))
        assert "evidence hit @1" in text
        assert "-" in text
        assert "…" not in text


def test_legs_are_rows_and_a_skipped_one_says_why() -> None:
    figures = {"ndcg@10": 0.67891, "recall@100": 1.0, "mrr@10": None}
    intervals = {"ndcg@10": (0.6, 0.7), "recall@100": (1.0, 1.0), "mrr@10": None}
    result = {
        "dataset": "mini",
        "legs": {"bm25": figures, "hybrid+rerank": {"skipped": "no reranker"}},
        "latency_ms": {"bm25": {"p50": 1.2, "p95": 3.4}},
        "ci95": {"legs": {"bm25": intervals}},
    }
    text = shown(retrieval_table(result))
    assert "0.6789" in text
    assert "0.600-0.700" in text
    assert "hybrid+rerank skipped: no reranker" in text
    assert "…" not in text
