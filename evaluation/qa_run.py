"""Asks every question of a set and observes what the system does."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from evaluation.bounded import for_each
from evaluation.failures import ErrorBudget
from evaluation.passage_text import comparable, comparable_fold, first_holding, holds_fact, holds_quote
from evaluation.qa_metrics import Observation
from evaluation.questions import Question
from evaluation.sections import in_section
from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.client import RadrefClient
from radref.errors import Internal, RadrefError

# What evidence_hit@13 looks at.
PARENTS = 13


@dataclass(frozen=True)
class QaRun:
    """Observations in the order of the set, without the questions whose calls failed."""

    observations: tuple[Observation, ...]
    failures: ErrorBudget
    versions: answer_pb2.Versions


async def run_questions(
    client: RadrefClient,
    questions: Sequence[Question],
    *,
    stored_ids: Mapping[str, str],
    concurrency: int,
    timeout: float,
    on_done: Callable[[], None],
) -> QaRun:
    """Asks every question.

    Args:
        client: has the gateway's address.
        questions: a question set.
        stored_ids: document id of the set -> id in the system, where they differ.
        concurrency: questions in flight at a time, >= 1. Latencies are those of an idle system only with 1.
        timeout: seconds a call.
        on_done: called after every question.

    Raises:
        Unavailable: more than 5 % of the questions failed.
    """
    observed: list[Observation | None] = [None] * len(questions)
    budget = ErrorBudget(len(questions))
    versions = answer_pb2.Versions()

    async def ask(item: tuple[int, Question]) -> None:
        index, question = item
        gold_doc = stored_ids.get(question.gold_doc, question.gold_doc)
        try:
            observed[index], answered_by = await observe(client, question, gold_doc=gold_doc, timeout=timeout)
            versions.CopyFrom(answered_by)
        except RadrefError as error:
            budget.spend(error)
        on_done()

    await for_each(enumerate(questions), ask, window=concurrency)
    return QaRun(tuple(item for item in observed if item is not None), budget, versions)


async def observe(
    client: RadrefClient, question: Question, *, gold_doc: str, timeout: float
) -> tuple[Observation, answer_pb2.Versions]:
    """One question: two searches when it has gold quotes, one answer.

    The first search keeps the fused order, the second has the order that generation gets.

    Raises:
        RadrefError: a call failed, or the system answered with neither an answer nor an abstention.
    """
    ranks: tuple[int | None, ...] = ()
    ranks_fused: tuple[int | None, ...] = ()
    if question.gold_quotes:
        ranks_fused = await _quote_ranks(client, question, gateway_pb2.RERANK_MODE_OFF, timeout)
        ranks = await _quote_ranks(client, question, gateway_pb2.RERANK_MODE_UNSPECIFIED, timeout)
    started = time.perf_counter()
    response = await client.generate(question.query, timeout=timeout)
    milliseconds = (time.perf_counter() - started) * 1000
    if response.outcome == answer_pb2.OUTCOME_UNSPECIFIED:
        raise Internal("Generate answered without an outcome")
    abstained = response.outcome == answer_pb2.OUTCOME_ABSTAINED
    if abstained or not question.answerable:
        return Observation(question, abstained, milliseconds, ranks, ranks_fused), response.versions
    passages = await _cited_passages(client, response, timeout)
    observation = Observation(
        question=question,
        abstained=False,
        generate_ms=milliseconds,
        quote_ranks=ranks,
        quote_ranks_fused=ranks_fused,
        facts_found=_facts_found(question, response),
        citations=sum(len(statement.citations) for statement in response.statements),
        citations_supported=_citations_supported(question, gold_doc, response, passages),
        quotes_cited=_quotes_cited(question, passages),
    )
    return observation, response.versions


async def _quote_ranks(
    client: RadrefClient, question: Question, rerank: gateway_pb2.RerankMode.ValueType, timeout: float
) -> tuple[int | None, ...]:
    limits = documents_pb2.SearchLimits(parents=PARENTS)
    response = await client.search(question.query, rerank=rerank, limits=limits, timeout=timeout)
    passages = [comparable(parent.passage.text) for parent in response.ranked_parents]
    return tuple(first_holding(passages, quote) for quote in question.gold_quotes)


async def _cited_passages(
    client: RadrefClient, response: gateway_pb2.GenerateResponse, timeout: float
) -> dict[str, documents_pb2.Passage]:
    """Cited passages by citation id; one that the response does not bring is looked up."""
    returned = {parent.passage.citation_id: parent.passage for parent in response.ranked_parents}
    cited = {citation.citation_id for statement in response.statements for citation in statement.citations}
    passages = {}
    for citation_id in sorted(cited):
        if citation_id in returned:
            passages[citation_id] = returned[citation_id]
        else:
            passages[citation_id] = (await client.get_source(citation_id, timeout=timeout)).passage
    return passages


def _facts_found(question: Question, response: gateway_pb2.GenerateResponse) -> int:
    """Key facts in the statements and what they quote."""
    parts = []
    for statement in response.statements:
        parts.append(statement.text)
        parts.extend(citation.quote for citation in statement.citations)
    # Facts must not arise from the end of one part and the start of the next.
    answer = "\n".join(comparable_fold(part) for part in parts)
    return sum(holds_fact(answer, fact) for fact in question.key_facts)


def _citations_supported(
    question: Question,
    gold_doc: str,
    response: gateway_pb2.GenerateResponse,
    passages: Mapping[str, documents_pb2.Passage],
) -> int:
    holding = {
        citation_id
        for citation_id, passage in passages.items()
        if any(holds_quote(comparable(passage.text), quote) for quote in question.gold_quotes)
    }
    supported = 0
    for statement in response.statements:
        for citation in statement.citations:
            passage = passages[citation.citation_id]
            path = [*passage.section_path, *citation.section_path]
            of_section = passage.document_id == gold_doc and in_section(path, question.gold_section)
            supported += citation.citation_id in holding or of_section
    return supported


def _quotes_cited(question: Question, passages: Mapping[str, documents_pb2.Passage]) -> int:
    texts = [comparable(passage.text) for passage in passages.values()]
    return sum(first_holding(texts, quote) is not None for quote in question.gold_quotes)
