"""From a question to ranked passages, a prompt, or a checked answer. Composes; every rule lives elsewhere."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from gateway import wording
from gateway.answering.answer_gate import gate_for
from gateway.answering.assembly import Assembly
from gateway.answering.drafting import DraftEnd, Task, draft
from gateway.answering.outcome import judge_answer
from gateway.contradictions import contradiction_notices
from gateway.gate import GateThresholds, GateVerdict, check_fitted, judge
from gateway.model import (
    Abstention,
    AbstentionReason,
    Answer,
    AnswerEvent,
    Filters,
    Notice,
    NoticeKind,
    Outcome,
    PromptMessage,
    PromptResult,
    RankedPassage,
    RerankMode,
    Retrieved,
    SearchQuery,
    SearchResult,
    Sources,
    Versions,
)
from gateway.ports import Generating, Reranking, Searching
from gateway.prompting.budget import prompt_within
from gateway.prompting.prompt import PROMPT_VERSION
from gateway.question import accepted_question
from gateway.validation import ValidationCounts, ValidationPolicy
from gateway.validity import for_generation, in_force_first, not_in_force
from radref.errors import InvalidInput
from radref.service.exemplars import exemplar
from radref.service.metrics import FIRST_STATEMENT_SECONDS, observe_stage, stage_timer


@dataclass(frozen=True, slots=True)
class PipelineLimits:
    """Sizes and choices; see GatewaySettings for units and ranges."""

    max_query_characters: int
    generation_parents: int
    max_prompt_tokens: int
    max_answer_tokens: int
    models: tuple[str, ...]
    rerank: bool


class Pipeline:
    """Answers questions with what the ports give. Holds no state between questions."""

    def __init__(
        self,
        *,
        searching: Searching,
        reranking: Reranking,
        generating: Generating,
        gate: GateThresholds,
        policy: ValidationPolicy,
        limits: PipelineLimits,
    ) -> None:
        self._searching = searching
        self._reranking = reranking
        self._generating = generating
        self._gate = gate
        self._policy = policy
        self._limits = limits

    async def search(self, query: SearchQuery) -> SearchResult:
        """Ranked passages, all that retrieval returns.

        Raises:
            InvalidInput: empty or too long question, unknown topic, limit out of range.
            Unimplemented: reranking was asked for and no reranker is loaded.
            Unavailable: retrieval does not answer.
        """
        query = replace(query, text=accepted_question(query.text, self._limits.max_query_characters))
        # The objective is of both together: percentiles of the parts do not add up.
        with stage_timer("retrieval"):
            return await self._found(query)

    async def _found(self, query: SearchQuery) -> SearchResult:
        retrieved = await self._searching.retrieve(query)
        timings = dict(retrieved.timings)
        parents = retrieved.parents
        reranker = ""
        wanted = query.rerank is RerankMode.ON or (query.rerank is RerankMode.DEFAULT and self._limits.rerank)
        if wanted and parents:
            with stage_timer("rerank") as clock:
                reranked = await self._reranking.rerank(query.text, [parent.passage for parent in parents])
                parents = _reordered(parents, reranked.scores)
            reranker = reranked.fingerprint
            timings["rerank"] = clock.milliseconds
            if reranked.compute_milliseconds:
                timings["rerank_compute"] = reranked.compute_milliseconds
        return SearchResult(
            parents=parents,
            candidates=retrieved.candidates,
            signals=retrieved.signals,
            notices=degraded(query.text, retrieved),
            timings=timings,
            versions=Versions(
                prompt=PROMPT_VERSION,
                knowledge_base=retrieved.index_version,
                embedder=retrieved.embedder_fingerprint,
                reranker=reranker,
            ),
        )

    async def prompt(self, question: str, filters: Filters) -> PromptResult:
        """The prompt that would be sent. Raises as `search`."""
        question = accepted_question(question, self._limits.max_query_characters)
        found = await self.search(SearchQuery(text=question, filters=filters))
        messages, parents, notices = self._sent(question, found)
        return PromptResult(
            messages=messages,
            parents=parents,
            notices=(*found.notices, *notices),
            timings=found.timings,
            versions=found.versions,
        )

    async def answer(self, question: str, filters: Filters, model: str = "") -> Answer:
        """A checked answer or an abstention: the last of `answer_events`, which see."""
        async with aclosing(self.answer_events(question, filters, model)) as events:
            async for event in events:
                if isinstance(event, Answer):
                    return event
        raise AssertionError("answer_events ends with an Answer")

    async def answer_events(
        self, question: str, filters: Filters, model: str = ""
    ) -> AsyncGenerator[AnswerEvent, None]:
        """Sources, then each statement once it passed every check, then the whole answer.

        Closing the iterator stops the generator.

        Raises:
            InvalidInput: as `search`, and UNKNOWN_MODEL.
            PreconditionFailed: the gate was fitted for another embedder.
            Unavailable: retrieval or the generator does not answer, or died in the middle; statements that
                were handed out before are checked ones all the same.
        """
        began = time.perf_counter()
        model = self._allowed(model)
        question = accepted_question(question, self._limits.max_query_characters)
        found = await self.search(SearchQuery(text=question, filters=filters))
        check_fitted(self._gate, found.versions.embedder, found.versions.reranker)
        with stage_timer("gate") as clock:
            reranked = [p.rerank_score for p in found.parents if p.rerank_score is not None]
            verdict = judge(
                found.signals,
                self._gate,
                found=bool(found.parents),
                best_rerank=max(reranked, default=None),
            )
        timings = {**found.timings, "gate": clock.milliseconds}
        messages, parents, notices = self._sent(question, found)
        found = replace(found, notices=(*found.notices, *notices))
        yield Sources(parents)
        if verdict != "pass":
            yield _refused(question, verdict, found, parents, timings)
            return

        task = Task(
            model=model,
            question=question,
            passages=parents,
            messages=messages,
            max_tokens=self._limits.max_answer_tokens,
        )
        assembly = Assembly(question, parents, self._policy, gate_for(question))
        validating = 0.0
        end: DraftEnd | None = None
        first = True
        with stage_timer("generate") as clock:
            async with aclosing(draft(self._generating, task)) as parts:
                async for part in parts:
                    if isinstance(part, DraftEnd):
                        end = part
                        break
                    started = time.perf_counter()
                    shown = assembly.add(part)
                    validating += time.perf_counter() - started
                    for statement in shown:
                        if first:
                            FIRST_STATEMENT_SECONDS.observe(time.perf_counter() - began, exemplar())
                            first = False
                        yield statement
        assert end is not None, "a draft ends with its DraftEnd"
        for statement in assembly.end():
            if first:
                FIRST_STATEMENT_SECONDS.observe(time.perf_counter() - began, exemplar())
                first = False
            yield statement
        observe_stage("validate", validating)
        timings["generate"] = clock.milliseconds - validating * 1000
        timings["validate"] = validating * 1000
        yield _answer(question, found, task, assembly, end, timings)

    def _sent(
        self, question: str, found: SearchResult
    ) -> tuple[tuple[PromptMessage, ...], tuple[RankedPassage, ...], tuple[Notice, ...]]:
        """The prompt, the passages in it, and a notice where some have no room."""
        parents = for_generation(found.parents, self._limits.generation_parents)
        messages, room = prompt_within(question, parents, self._limits.max_prompt_tokens)
        left_out = parents[room:]
        if not left_out:
            return messages, parents, ()
        notice = Notice(
            NoticeKind.CONTEXT_TRUNCATED,
            wording.left_out(question, len(left_out)),
            tuple(parent.passage.citation_id for parent in left_out),
        )
        return messages, parents[:room], (notice,)

    def _allowed(self, model: str) -> str:
        if not model:
            return self._limits.models[0]
        if model not in self._limits.models:
            known = ", ".join(self._limits.models)
            raise InvalidInput(
                f"there is no model {model!r}; known: {known}", reason="UNKNOWN_MODEL", field="model"
            )
        return model


def _reordered(parents: Sequence[RankedPassage], scores: Sequence[float]) -> tuple[RankedPassage, ...]:
    scored = [replace(parent, rerank_score=score) for parent, score in zip(parents, scores, strict=True)]
    # A stable sort keeps the fused order of equal scores.
    return in_force_first(sorted(scored, key=lambda parent: -(parent.rerank_score or 0.0)))


def degraded(question: str, retrieved: Retrieved) -> tuple[Notice, ...]:
    """A notice where a leg of the search did not answer."""
    if not retrieved.failed_legs:
        return ()
    legs = sorted({f"{failed.leg}/{failed.topic}" for failed in retrieved.failed_legs})
    return (Notice(NoticeKind.DEGRADED_SEARCH, wording.degraded(question, legs)),)


_REFUSALS: Mapping[str, tuple[AbstentionReason, Callable[[str], str]]] = {
    "nothing_found": (AbstentionReason.INSUFFICIENT_EVIDENCE, wording.nothing_found),
    "weak": (AbstentionReason.INSUFFICIENT_EVIDENCE, wording.weak_evidence),
    "foreign": (AbstentionReason.OUT_OF_SCOPE, wording.foreign),
}


def _refused(
    question: str,
    verdict: GateVerdict,
    found: SearchResult,
    parents: tuple[RankedPassage, ...],
    timings: Mapping[str, float],
) -> Answer:
    reason, message = _REFUSALS[verdict]
    return Answer(
        outcome=Outcome.ABSTAINED,
        parents=parents,
        messages=(),
        statements=(),
        abstention=Abstention(reason, message(question)),
        notices=found.notices,
        validation=ValidationCounts(),
        timings=timings,
        versions=found.versions,
    )


def _answer(
    question: str,
    found: SearchResult,
    task: Task,
    assembly: Assembly,
    end: DraftEnd,
    timings: Mapping[str, float],
) -> Answer:
    validated = assembly.result(end)
    verdict = judge_answer(question, validated, end, lacks_what_is_asked=assembly.lacks_what_is_asked)
    cited = [citation.id for statement in validated.statements for citation in statement.citations]
    generator = f"{end.generation.model}@{end.generation.fingerprint}" if end.generation else task.model
    read, written = end.tokens
    return Answer(
        outcome=verdict.outcome,
        parents=tuple(task.passages),
        messages=tuple(task.messages),
        statements=validated.statements,
        abstention=verdict.abstention,
        notices=(
            *found.notices,
            # Without an answer nothing is compared that nobody reads.
            *contradiction_notices(question, task.passages if cited else (), cited, validated.conflicts),
            *verdict.notices,
            *not_in_force(question, found.parents, cited),
        ),
        validation=validated.counts,
        timings=timings,
        versions=replace(found.versions, generator=generator),
        prompt_tokens=read,
        completion_tokens=written,
    )
