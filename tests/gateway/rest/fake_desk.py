"""A desk with scripted answers: the facade's tests need no pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gateway.consult.judgement import Fit
from gateway.consult.result import CitedVariant, Consultation, LookedAt
from gateway.consult.scenario import Fact
from gateway.consult.scope import Polarity
from gateway.consult.selection import Decision
from gateway.model import (
    Abstention,
    AbstentionReason,
    Answer,
    Candidate,
    ChildHit,
    DocumentInfo,
    Filters,
    Notice,
    NoticeKind,
    Outcome,
    Passage,
    PassageState,
    PromptMessage,
    PromptResult,
    RankedPassage,
    SearchQuery,
    SearchResult,
    Signals,
    Source,
    Sources,
    Validity,
    Versions,
)
from gateway.question import accepted_question
from gateway.rest.limits import SiteLimits
from gateway.validation import StatementFlag, ValidatedCitation, ValidatedStatement, ValidationCounts
from radref.appropriateness.model import Criteria, Procedure, RadiationLevel, Urgency, Variant
from radref.errors import InvalidInput, NotFound
from radref.service.context import current_call

MAX_CHARACTERS = 4000
TEXT = "Годовой предел для хрусталика глаза: 20 mSv. The limit for a worker is 20 mSv."
QUOTE = "The limit for a worker is 20 mSv."
CITED = f"{1:020x}"
MODELS = ("extractive",)
LIMITS = SiteLimits(MAX_CHARACTERS, MODELS, max_timeout=120)


def passage(ordinal: int) -> Passage:
    return Passage(
        citation_id=f"{ordinal:020x}",
        document_id="doc",
        version=2,
        ordinal=ordinal,
        text=TEXT,
        section_path=("Limits", "Eye"),
        document=DocumentInfo(
            title="Dose limits",
            topic="safety",
            language="en",
            source_category="guidance",
            year=2024,
            effective_from=datetime(2024, 1, 1, tzinfo=UTC),
            supersedes=("old",),
        ),
        pages=(3, 4),
        validity=Validity.SUPERSEDED,
        superseded_by="new",
        superseded_at=datetime(2025, 1, 1, tzinfo=UTC),
    )


START, END = TEXT.index(QUOTE), TEXT.index(QUOTE) + len(QUOTE)
HIT = ChildHit(0, START, END, 0.02, ("Limits",), dense_score=0.9, bm25_score=None)
PARENTS = tuple(
    RankedPassage(passage(n), 1 / (60 + n), (HIT,), 0.5, ("twin",), 0.9, 12.5) for n in range(1, 4)
)
STATEMENT = ValidatedStatement(
    "The limit is 20 mSv.",
    (ValidatedCitation(CITED, START, END, QUOTE, ("Limits", "Eye")),),
    (StatementFlag.NEGATION_MISSING,),
)
NOTICE = Notice(NoticeKind.NOT_IN_FORCE, '"Dose limits" is superseded by new.', (CITED,))
VERSIONS = Versions("p1", 7, "e" * 16, "", f"extractive@{'g' * 16}")
ANSWER = Answer(
    outcome=Outcome.ANSWERED,
    parents=PARENTS,
    messages=(PromptMessage("system", "Quote."), PromptMessage("user", "Question")),
    statements=(STATEMENT, replace(STATEMENT, flags=())),
    abstention=None,
    notices=(NOTICE,),
    validation=ValidationCounts(citations_valid=2, statements_kept=2, statements_flagged=1),
    timings={"embed": 1.5, "generate": 20.0},
    versions=VERSIONS,
    prompt_tokens=10,
    completion_tokens=5,
)
ABSTAINED = replace(
    ANSWER,
    outcome=Outcome.ABSTAINED,
    statements=(),
    abstention=Abstention(AbstentionReason.INSUFFICIENT_EVIDENCE, "Ask more specifically."),
)

VARIANT = CitedVariant(
    Variant(
        id="headache-x",
        topic_id="headache",
        topic_title="Headache",
        title="Sudden headache. Initial imaging.",
        population="adult",
        urgency=Urgency.EMERGENCY,
        criteria=Criteria(all=("headache",)),
        keywords=("headache",),
        narrative="",
        procedures=(Procedure("ct", "CT head without IV contrast", 9, RadiationLevel.MEDIUM, "First."),),
        kb_version="1-synthetic",
        synthetic=True,
    ),
    CITED,
)
CONSULTATION = Consultation(
    outcome=Outcome.ANSWERED,
    decision=Decision.RECOMMENDED,
    chosen=VARIANT,
    procedures=VARIANT.variant.procedures,
    facts=(Fact("headache", Polarity.PRESENT, "Headache"),),
    assumptions=("adult",),
    open_questions=(),
    abstention=None,
    notices=(NOTICE,),
    banner="SYNTHETIC",
    candidates=(LookedAt(VARIANT, Fit.FITS, (), 0.03),),
    validation=ValidationCounts(),
    timings={"embed": 1.0, "select": 2.0},
    versions=VERSIONS,
)


@dataclass(slots=True)
class FakeDesk:
    """Attributes:
    error: raised by every method, before anything else.
    stream_error: raised by a stream after its first statement.
    hold: a stream waits for it after its first statement; answer() waits for it first.
    closed: set when a stream or an answer ended in any way.
    """

    given: Answer = ANSWER
    error: Exception | None = None
    stream_error: Exception | None = None
    hold: asyncio.Event | None = None
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[object] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    async def search(self, query: SearchQuery, *, actor: str = "") -> SearchResult:
        self._ask(query.text, query)
        candidates = (Candidate(CITED, "doc", HIT),) if query.want_candidates else ()
        return SearchResult(PARENTS, candidates, Signals(0.9, 12.5, 1.0), (NOTICE,), {"embed": 1.0}, VERSIONS)

    async def prompt(self, question: str, filters: Filters, *, actor: str = "") -> PromptResult:
        self._ask(question, filters)
        return PromptResult(ANSWER.messages, PARENTS, (), {"embed": 1.0}, VERSIONS)

    async def answer(self, question: str, filters: Filters, model: str = "", *, actor: str = "") -> Answer:
        self._ask(question, filters, model)
        try:
            if self.hold:
                await self.hold.wait()
            return self.given
        finally:
            self.closed.set()

    async def answer_stream(
        self, question: str, filters: Filters, model: str = "", *, actor: str = ""
    ) -> AsyncIterator[Sources | ValidatedStatement | Answer]:
        self._ask(question, filters, model)
        try:
            yield Sources(self.given.parents)
            for statement in self.given.statements:
                yield statement
                if self.stream_error:
                    raise self.stream_error
                if self.hold:
                    await self.hold.wait()
            yield self.given
        finally:
            self.closed.set()

    async def consult(self, scenario: str, *, actor: str = "") -> Consultation:
        call = current_call()
        self.calls.append(call.method if call else "")
        self.asked.append(scenario)
        if self.error:
            raise self.error
        accepted_question(scenario, MAX_CHARACTERS, field="scenario")
        return CONSULTATION

    async def source(self, citation_id: str) -> Source:
        if self.error:
            raise self.error
        if not citation_id.startswith("0"):
            raise NotFound("no passage has this citation id", reason="UNKNOWN_CITATION", field="citation_id")
        return Source(passage(1), PassageState.SUPERSEDED, datetime(2025, 1, 1, tzinfo=UTC))

    def _ask(self, text: str, asked: object, model: str = "", *, actor: str = "") -> None:
        call = current_call()
        self.calls.append(call.method if call else "")
        self.asked.append(asked)
        if self.error:
            raise self.error
        accepted_question(text, MAX_CHARACTERS)
        if model and model not in MODELS:
            raise InvalidInput("there is no such model", reason="UNKNOWN_MODEL", field="model")
