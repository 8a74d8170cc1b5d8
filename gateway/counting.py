"""Counts of an answer, for metrics."""

from __future__ import annotations

from gateway.model import Answer
from radref.service.metrics import ABSTENTIONS, ANSWERS, CITATIONS, GENERATION_TOKENS


def count(answer: Answer) -> None:
    ANSWERS.labels(outcome=answer.outcome.value).inc()
    if answer.abstention is not None:
        ABSTENTIONS.labels(reason=answer.abstention.reason.value).inc()
    counts = answer.validation
    CITATIONS.labels(result="valid").inc(counts.citations_valid)
    CITATIONS.labels(result="unknown").inc(counts.citations_unknown)
    CITATIONS.labels(result="misquoted").inc(counts.citations_misquoted)
    GENERATION_TOKENS.labels(kind="prompt").inc(answer.prompt_tokens)
    GENERATION_TOKENS.labels(kind="completion").inc(answer.completion_tokens)
