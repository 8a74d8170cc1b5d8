"""From a scenario to one variant's rated procedures, or an abstention. Composes; rules live elsewhere."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from gateway.consult import wording
from gateway.consult.choosing import Choice, choose
from gateway.consult.judgement import Fit, Judgement, judge_all
from gateway.consult.prepared import Prepared, prepared
from gateway.consult.result import CitedVariant, Consultation, LookedAt
from gateway.consult.scenario import Scenario, read_scenario
from gateway.consult.selection import Decision, Selection, select
from gateway.consult.settings import ConsultProfile, ConsultSettings
from gateway.consult.terminology.model import Terminology
from gateway.model import (
    Abstention,
    AbstentionReason,
    Filters,
    Leg,
    Limits,
    Notice,
    NoticeKind,
    Outcome,
    RankedPassage,
    Retrieved,
    SearchQuery,
    Versions,
)
from gateway.pipeline import degraded
from gateway.ports import Generating, Searching
from gateway.question import accepted_question
from gateway.validation import ValidationCounts
from radref.appropriateness.model import Procedure, Urgency
from radref.appropriateness.passage import parse
from radref.service.metrics import stage_timer

log = structlog.get_logger()

# Prepared variants that are kept; a citation id names its content, so none goes stale.
_KEPT = 4096
_MOST_REASONS = 4
# About 500 tokens each.
_MOST_FOR_MODEL = 10
# The others ask what would decide it, or have nothing to tell of.
_TELLING_WHY = (Decision.EXCLUDED, Decision.OTHER_QUESTION)
_REASONS = {
    Decision.OTHER_QUESTION: AbstentionReason.OUT_OF_SCOPE,
    Decision.VALIDATOR: AbstentionReason.NO_VALID_CITATION,
}


@dataclass(frozen=True, slots=True)
class _Found:
    """What the search gave.

    Attributes:
        variants: in the order of `passages`, which are those that can be read as variants.
    """

    retrieved: Retrieved
    passages: tuple[RankedPassage, ...]
    variants: tuple[Prepared, ...]


class Consulting:
    """Answers scenarios from the collection of variants. Keeps prepared variants, nothing of a scenario."""

    def __init__(
        self,
        *,
        searching: Searching,
        generating: Generating,
        terminology: Terminology,
        settings: ConsultSettings,
        max_characters: int,
    ) -> None:
        self._searching = searching
        self._generating = generating
        self._terminology = terminology
        self._settings = settings
        self._max_characters = max_characters
        self._prepared: OrderedDict[str, Prepared] = OrderedDict()

    async def consult(self, scenario: str) -> Consultation:
        """A recommendation of exactly one variant, or an abstention that says why.

        Raises:
            InvalidInput: EMPTY_TEXT, TEXT_TOO_LONG (field "scenario").
            Unavailable: retrieval, or the language model where one is set, does not answer.
        """
        text = accepted_question(scenario, self._max_characters, field="scenario")
        # Reading takes milliseconds of this process while the search waits for another.
        found, facts = await asyncio.gather(
            self._search(text), asyncio.to_thread(read_scenario, text, self._terminology)
        )
        selecting = 0.0
        if self._settings.profile is ConsultProfile.PAPER:
            judgements = tuple(Judgement(variant, Fit.NOT_JUDGED) for variant in found.variants)
            selection = self._by_search(found, judgements)
        else:
            with stage_timer("select") as clock:
                judgements = judge_all(found.variants, facts, self._terminology)
                selection = select(judgements)
            selecting = clock.milliseconds
        choice: Choice | None = None
        if self._settings.model and selection.decision is not Decision.GATE:
            choice, selection = await self._by_model(text, found, judgements, selection)
        return self._consultation(text, facts, found, judgements, selection, choice, selecting)

    async def _search(self, text: str) -> _Found:
        settings = self._settings
        paper = settings.profile is ConsultProfile.PAPER
        retrieved = await self._searching.retrieve(
            SearchQuery(
                text=text,
                legs=(Leg.BM25,) if paper else (),
                # A variant may be several children: enough of them that each is found.
                limits=Limits(per_collection=4 * settings.candidates, parents=settings.candidates),
                filters=Filters(topics=(settings.topic,)),
            )
        )
        passages, variants = [], []
        for parent in retrieved.parents:
            if parent.passage.is_out_of_force:
                continue
            try:
                variants.append(self._prepared_of(parent))
            except ValueError:
                # Curators put variants there, and only those; another text is nobody's recommendation.
                log.warning("not a variant", citation_id=parent.passage.citation_id)
                continue
            passages.append(parent)
        return _Found(retrieved, tuple(passages), tuple(variants))

    def _prepared_of(self, parent: RankedPassage) -> Prepared:
        citation_id = parent.passage.citation_id
        known = self._prepared.get(citation_id)
        if known is None:
            known = prepared(parse(parent.passage.text), citation_id, self._terminology)
            self._prepared[citation_id] = known
            if len(self._prepared) > _KEPT:
                self._prepared.popitem(last=False)
        else:
            self._prepared.move_to_end(citation_id)
        return known

    def _by_search(self, found: _Found, judgements: Sequence[Judgement]) -> Selection:
        """Paper B without a language model: the best variant, if its score passes the gate."""
        # Not the best score of the search: that may be of a passage that was left out above.
        if not judgements or _bm25(found.passages[0]) < self._settings.min_score:
            return Selection(Decision.GATE)
        return Selection(Decision.RECOMMENDED, judgements[0])

    async def _by_model(
        self, text: str, found: _Found, judgements: Sequence[Judgement], selection: Selection
    ) -> tuple[Choice | None, Selection]:
        """A language model chooses among what the rules have not excluded.

        Where the rules found one variant that fits, it may agree or refuse, not choose another one.
        """
        allowed = [index for index, judgement in enumerate(judgements) if judgement.fit is not Fit.EXCLUDED]
        # Those that are about it first; more would not fit into a small model's window.
        allowed = sorted(allowed, key=lambda index: judgements[index].fit is Fit.UNRELATED)[:_MOST_FOR_MODEL]
        if not allowed or selection.decision in (Decision.OTHER_QUESTION, Decision.EXCLUDED):
            return None, selection
        choice = await choose(
            self._generating,
            model=self._settings.model,
            scenario=text,
            passages=[found.passages[index] for index in allowed],
            variants={
                judgements[index].prepared.citation_id: _cited(judgements[index].prepared)
                for index in allowed
            },
            max_tokens=self._settings.max_answer_tokens,
        )
        # `select` does not say so of what it recommends; a refusal must.
        emergency = any(one.emergency for one in judgements)
        if choice.citation_id is None:
            return choice, replace(selection, decision=choice.decision, chosen=None, emergency=emergency)
        chosen = next(one for one in judgements if one.prepared.citation_id == choice.citation_id)
        if self._settings.profile is ConsultProfile.PAPER:
            return choice, Selection(Decision.RECOMMENDED, chosen)
        if selection.chosen is chosen:
            return choice, selection
        if selection.chosen is not None:
            return choice, replace(selection, decision=Decision.GENERATOR, chosen=None, emergency=emergency)
        others = tuple(one for one in judgements if one.fit is Fit.FITS and one is not chosen)
        return choice, Selection(Decision.RECOMMENDED, chosen, also_fits=others)

    def _consultation(
        self,
        text: str,
        facts: Scenario,
        found: _Found,
        judgements: Sequence[Judgement],
        selection: Selection,
        choice: Choice | None,
        selecting: float,
    ) -> Consultation:
        chosen = selection.chosen
        versions = Versions(
            prompt=choice.prompt_version if choice else "",
            knowledge_base=found.retrieved.index_version,
            embedder=found.retrieved.embedder_fingerprint,
            generator=choice.generator if choice else "",
        )
        timings = {**found.retrieved.timings, "select": selecting}
        if choice:
            timings["generate"] = choice.milliseconds
        return Consultation(
            outcome=Outcome.ANSWERED if chosen else Outcome.ABSTAINED,
            decision=selection.decision,
            chosen=_cited(chosen.prepared) if chosen else None,
            procedures=_best_first(chosen.prepared) if chosen else (),
            facts=facts.facts,
            assumptions=chosen.assumptions if chosen else (),
            open_questions=chosen.open_questions if chosen else selection.open_questions,
            abstention=None if chosen else _abstention(text, judgements, selection),
            notices=(
                *degraded(text, found.retrieved),
                *_notices(text, facts, selection, judged=self._settings.profile is not ConsultProfile.PAPER),
            ),
            banner=wording.SYNTHETIC if any(one.variant.synthetic for one in found.variants) else "",
            candidates=tuple(
                LookedAt(_cited(judgement.prepared), judgement.fit, judgement.reasons, _score(passage))
                for judgement, passage in zip(judgements, found.passages, strict=True)
            ),
            validation=choice.counts if choice else ValidationCounts(),
            timings=timings,
            versions=versions,
            prompt_tokens=choice.prompt_tokens if choice else 0,
            completion_tokens=choice.completion_tokens if choice else 0,
        )


def _cited(variant: Prepared) -> CitedVariant:
    return CitedVariant(variant.variant, variant.citation_id)


def _best_first(chosen: Prepared) -> tuple[Procedure, ...]:
    return tuple(sorted(chosen.variant.procedures, key=lambda procedure: -procedure.rating))


def _bm25(passage: RankedPassage) -> float:
    return passage.bm25_score or 0.0


def _score(passage: RankedPassage) -> float:
    return passage.rrf_score or _bm25(passage)


def _abstention(text: str, judgements: Sequence[Judgement], selection: Selection) -> Abstention:
    reasons = [
        reason
        for one in judgements
        if selection.decision in _TELLING_WHY and one.fit is Fit.EXCLUDED
        for reason in one.reasons
    ]
    return Abstention(
        _REASONS.get(selection.decision, AbstentionReason.INSUFFICIENT_EVIDENCE),
        wording.abstained(
            text, selection.decision, tuple(dict.fromkeys(reasons))[:_MOST_REASONS], selection.open_questions
        ),
    )


def _notices(text: str, facts: Scenario, selection: Selection, *, judged: bool) -> tuple[Notice, ...]:
    chosen = selection.chosen
    notices: list[Notice] = []
    if chosen is None and selection.emergency:
        notices.append(Notice(NoticeKind.EMERGENCY_FEATURE, wording.emergency(text)))
    if chosen is not None and judged and facts.may_be_pregnant:
        notices.append(
            Notice(
                NoticeKind.PREGNANCY_NOT_STATED,
                wording.pregnancy_not_stated(text),
                (chosen.prepared.citation_id,),
            )
        )
    if chosen is None:
        return tuple(notices)
    notices += [
        Notice(
            NoticeKind.ANOTHER_VARIANT_FITS,
            wording.another_fits(
                text,
                other.prepared.variant.title,
                less_urgent=chosen.prepared.variant.urgency is Urgency.EMERGENCY
                and other.prepared.variant.urgency is not Urgency.EMERGENCY,
            ),
            (other.prepared.citation_id,),
        )
        for other in selection.also_fits
    ]
    return tuple(notices)
