"""Counts of an answer or a consult, for metrics."""

from __future__ import annotations

from gateway.consult.result import Consultation
from gateway.model import AbstentionReason, Answer, Outcome
from radref.service.metrics import ABSTENTIONS, ANSWERS, CITATIONS, GENERATION_TOKENS


def start_at_zero() -> None:
    """Shows every series from the start on: a rate needs a zero before the first one."""
    for outcome in Outcome:
        ANSWERS.labels(outcome=outcome.value)
    for reason in AbstentionReason:
        ABSTENTIONS.labels(reason=reason.value)
    for result in ("valid", "unknown", "misquoted"):
        CITATIONS.labels(result=result)
    for kind in ("prompt", "completion"):
        GENERATION_TOKENS.labels(kind=kind)


def count(answer: Answer | Consultation) -> None:
    """What came of a question or a scenario."""
    ANSWERS.labels(outcome=answer.outcome.value).inc()
    if answer.abstention is not None:
        ABSTENTIONS.labels(reason=answer.abstention.reason.value).inc()
    counts = answer.validation
    CITATIONS.labels(result="valid").inc(counts.citations_valid)
    CITATIONS.labels(result="unknown").inc(counts.citations_unknown)
    CITATIONS.labels(result="misquoted").inc(counts.citations_misquoted)
    GENERATION_TOKENS.labels(kind="prompt").inc(answer.prompt_tokens)
    GENERATION_TOKENS.labels(kind="completion").inc(answer.completion_tokens)
