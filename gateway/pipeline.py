"""From a question to ranked passages, a prompt, or a checked answer. Composes; every rule lives elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gateway import wording
from gateway.answer_schema import ANSWER_SCHEMA_JSON, AnswerFormatError, parse_answer
from gateway.contradictions import contradiction_notices
from gateway.gate import GateThresholds, check_fitted, judge
from gateway.model import (
    Abstention,
    AbstentionReason,
    Answer,
    Filters,
    Generated,
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
    Versions,
)
from gateway.ports import Generating, Reranking, Searching
from gateway.prompting.prompt import PROMPT_VERSION, build_prompt
from gateway.question import accepted_question
from gateway.validation import PassageText, ValidatedAnswer, ValidationCounts, ValidationPolicy, validate
from gateway.validity import for_generation, in_force_first, not_in_force
from radref.errors import InvalidInput, Unavailable
from radref.service.metrics import stage_timer


@dataclass(frozen=True, slots=True)
class PipelineLimits:
    """Sizes and choices; see GatewaySettings for units and ranges."""

    max_query_characters: int
    generation_parents: int
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
            notices=_degraded(query.text, retrieved),
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
        found = await self.search(SearchQuery(text=question, filters=filters))
        parents = for_generation(found.parents, self._limits.generation_parents)
        return PromptResult(
            messages=build_prompt(question, [parent.passage for parent in parents]),
            parents=parents,
            notices=found.notices,
            timings=found.timings,
            versions=found.versions,
        )

    async def answer(self, question: str, filters: Filters, model: str = "") -> Answer:
        """A checked answer or an abstention.

        Raises:
            InvalidInput: as `search`, and UNKNOWN_MODEL.
            PreconditionFailed: the gate was fitted for another embedder.
            Unavailable: retrieval or the generator does not answer, or the generator's output is unreadable.
        """
        model = self._allowed(model)
        question = accepted_question(question, self._limits.max_query_characters)
        found = await self.search(SearchQuery(text=question, filters=filters))
        check_fitted(self._gate, found.versions.embedder)
        with stage_timer("gate") as clock:
            verdict = judge(found.signals, self._gate, found=bool(found.parents))
        timings = {**found.timings, "gate": clock.milliseconds}
        parents = for_generation(found.parents, self._limits.generation_parents)
        if verdict != "pass":
            message = (wording.nothing_found if verdict == "nothing_found" else wording.weak_evidence)(
                question
            )
            return Answer(
                outcome=Outcome.ABSTAINED,
                parents=parents,
                messages=(),
                statements=(),
                abstention=Abstention(AbstentionReason.INSUFFICIENT_EVIDENCE, message),
                notices=found.notices,
                validation=ValidationCounts(),
                timings=timings,
                versions=found.versions,
            )

        messages = build_prompt(question, [parent.passage for parent in parents])
        with stage_timer("generate") as clock:
            generated = await self._generating.generate(
                model=model,
                messages=messages,
                query=question,
                passages=parents,
                json_schema=ANSWER_SCHEMA_JSON,
                max_tokens=self._limits.max_answer_tokens,
            )
        timings["generate"] = clock.milliseconds
        with stage_timer("validate") as clock:
            validated = self._validated(question, generated, parents)
        timings["validate"] = clock.milliseconds
        return _answer(question, found, parents, messages, generated, validated, timings)

    def _allowed(self, model: str) -> str:
        if not model:
            return self._limits.models[0]
        if model not in self._limits.models:
            known = ", ".join(self._limits.models)
            raise InvalidInput(
                f"there is no model {model!r}; known: {known}", reason="UNKNOWN_MODEL", field="model"
            )
        return model

    def _validated(
        self, question: str, generated: Generated, parents: Sequence[RankedPassage]
    ) -> ValidatedAnswer:
        try:
            parsed = parse_answer(generated.text)
        except AnswerFormatError as exc:
            raise Unavailable(
                f"{exc}; try again or choose another model", metadata={"backend": "generator"}
            ) from None
        passages = {
            parent.passage.citation_id: PassageText(
                text=parent.passage.text,
                section_path=parent.passage.section_path,
                title=parent.passage.document.title,
            )
            for parent in parents
        }
        return validate(parsed, passages, self._policy, question)


def _reordered(parents: Sequence[RankedPassage], scores: Sequence[float]) -> tuple[RankedPassage, ...]:
    scored = [replace(parent, rerank_score=score) for parent, score in zip(parents, scores, strict=True)]
    # A stable sort keeps the fused order of equal scores.
    return in_force_first(sorted(scored, key=lambda parent: -(parent.rerank_score or 0.0)))


def _degraded(question: str, retrieved: Retrieved) -> tuple[Notice, ...]:
    if not retrieved.failed_legs:
        return ()
    legs = sorted({f"{failed.leg}/{failed.topic}" for failed in retrieved.failed_legs})
    return (Notice(NoticeKind.DEGRADED_SEARCH, wording.degraded(question, legs)),)


def _answer(
    question: str,
    found: SearchResult,
    parents: tuple[RankedPassage, ...],
    messages: tuple[PromptMessage, ...],
    generated: Generated,
    validated: ValidatedAnswer,
    timings: dict[str, float],
) -> Answer:
    notices = list(found.notices)
    cited = [citation.id for statement in validated.statements for citation in statement.citations]
    notices += contradiction_notices(question, parents, cited, validated.conflicts)
    notices += not_in_force(question, found.parents, cited)
    abstention: Abstention | None = None
    if validated.statements:
        partial = validated.insufficient
        outcome = Outcome.PARTIALLY_ANSWERED if partial else Outcome.ANSWERED
        if partial:
            message = validated.missing or wording.incomplete(question)
            notices.append(Notice(NoticeKind.MISSING_INFORMATION, message))
    else:
        outcome = Outcome.ABSTAINED
        abstention = _no_statement(question, validated)
    return Answer(
        outcome=outcome,
        parents=parents,
        messages=messages,
        statements=validated.statements,
        abstention=abstention,
        notices=tuple(notices),
        validation=validated.counts,
        timings=timings,
        versions=replace(found.versions, generator=f"{generated.model}@{generated.fingerprint}"),
        prompt_tokens=generated.prompt_tokens,
        completion_tokens=generated.completion_tokens,
    )


def _no_statement(question: str, validated: ValidatedAnswer) -> Abstention:
    counts = validated.counts
    dropped = (
        counts.statements_uncited
        + counts.statements_unsupported_number
        + counts.statements_other_language
        + counts.statements_unsafe
    )
    if dropped or validated.refused:
        return Abstention(AbstentionReason.NO_VALID_CITATION, wording.nothing_valid(question))
    return Abstention(
        AbstentionReason.INSUFFICIENT_EVIDENCE, validated.missing or wording.nothing_supported(question)
    )
