"""What the gateway offers, whatever the transport: gRPC and REST both call this and nothing else.

Every question is in the audit trail before its answer is given out. `actor` is who asks, as
`gateway.audit.asker` names them. Errors are those of the parts that are called.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from gateway.audit.feedback import FeedbackBox
from gateway.audit.model import AuditFilter, AuditPage, Feedback, FeedbackFilter, FeedbackPage
from gateway.audit.trail import AuditTrail
from gateway.consult.consulting import Consulting
from gateway.consult.result import Consultation
from gateway.counting import count
from gateway.model import Answer, AnswerEvent, Filters, PromptResult, SearchQuery, SearchResult, Source
from gateway.pipeline import Pipeline
from gateway.ports import PassageKeeping
from gateway.sources import accepted_citation_id


class Desk:
    """Questions, consults, sources, feedback and the audit trail."""

    def __init__(
        self,
        pipeline: Pipeline,
        consulting: Consulting,
        passages: PassageKeeping,
        trail: AuditTrail,
        feedback: FeedbackBox,
    ) -> None:
        self._pipeline = pipeline
        self._consulting = consulting
        self._passages = passages
        self._trail = trail
        self._feedback = feedback

    async def search(self, query: SearchQuery, *, actor: str) -> SearchResult:
        """See `Pipeline.search`."""
        async with self._trail.recorded("Search", query.text, actor) as note:
            found = await self._pipeline.search(query)
            note.found(found)
        return found

    async def prompt(self, question: str, filters: Filters, *, actor: str) -> PromptResult:
        """See `Pipeline.prompt`."""
        async with self._trail.recorded("Prompt", question, actor) as note:
            result = await self._pipeline.prompt(question, filters)
            note.found(result)
        return result

    async def answer(self, question: str, filters: Filters, model: str = "", *, actor: str) -> Answer:
        """See `Pipeline.answer`."""
        async with self._trail.recorded("Generate", question, actor) as note:
            answer = await self._pipeline.answer(question, filters, model)
            note.answered(answer)
        count(answer)
        return answer

    async def answer_stream(
        self, question: str, filters: Filters, model: str = "", *, actor: str
    ) -> AsyncGenerator[AnswerEvent, None]:
        """See `Pipeline.answer_events`. Its end is given out once the request is recorded."""
        answer: Answer | None = None
        async with (
            self._trail.recorded("StreamGenerate", question, actor) as note,
            aclosing(self._pipeline.answer_events(question, filters, model)) as events,
        ):
            async for event in events:
                if isinstance(event, Answer):
                    answer = event
                    note.answered(answer)
                else:
                    yield event
        assert answer is not None, "answer_events ends with an Answer"
        count(answer)
        yield answer

    async def consult(self, scenario: str, *, actor: str) -> Consultation:
        """See `Consulting.consult`."""
        async with self._trail.recorded("Consult", scenario, actor) as note:
            result = await self._consulting.consult(scenario)
            note.consulted(result)
        count(result)
        return result

    async def source(self, citation_id: str) -> Source:
        """The passage behind a citation id, in the form users send it back.

        Raises:
            InvalidInput: it does not have the form of a citation id.
            NotFound: UNKNOWN_CITATION.
            Unavailable: the ingest service does not answer.
        """
        return await self._passages.passage(accepted_citation_id(citation_id))

    async def submit_feedback(self, feedback: Feedback, *, actor: str) -> str:
        """See `FeedbackBox.submit`."""
        return await self._feedback.submit(feedback, actor)

    async def query_audit(self, wanted: AuditFilter, *, size: int = 0, token: str = "") -> AuditPage:
        """See `AuditTrail.query`."""
        return await self._trail.query(wanted, size=size, token=token)

    async def list_feedback(self, wanted: FeedbackFilter, *, size: int = 0, token: str = "") -> FeedbackPage:
        """See `FeedbackBox.page`."""
        return await self._feedback.page(wanted, size=size, token=token)
