"""What the gateway offers, whatever the transport: gRPC and REST both call this and nothing else."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from gateway.counting import count
from gateway.model import Answer, AnswerEvent, Filters, PromptResult, SearchQuery, SearchResult, Source
from gateway.pipeline import Pipeline
from gateway.ports import PassageKeeping
from gateway.sources import accepted_citation_id
from radref.errors import Unimplemented


class Desk:
    """Questions, sources and what is kept about them. Errors are those of the parts it calls."""

    def __init__(self, pipeline: Pipeline, passages: PassageKeeping) -> None:
        self._pipeline = pipeline
        self._passages = passages

    async def search(self, query: SearchQuery) -> SearchResult:
        """See `Pipeline.search`."""
        return await self._pipeline.search(query)

    async def prompt(self, question: str, filters: Filters) -> PromptResult:
        """See `Pipeline.prompt`."""
        return await self._pipeline.prompt(question, filters)

    async def answer(self, question: str, filters: Filters, model: str = "") -> Answer:
        """See `Pipeline.answer`."""
        answer = await self._pipeline.answer(question, filters, model)
        count(answer)
        return answer

    async def answer_stream(
        self, question: str, filters: Filters, model: str = ""
    ) -> AsyncGenerator[AnswerEvent, None]:
        """See `Pipeline.answer_events`."""
        async with aclosing(self._pipeline.answer_events(question, filters, model)) as events:
            async for event in events:
                if isinstance(event, Answer):
                    count(event)
                yield event

    async def consult(self, scenario: str) -> object:
        """Raises Unimplemented: not in this release."""
        raise Unimplemented(
            "Consult is not in this release: appropriateness consults come with a later release"
        )

    async def source(self, citation_id: str) -> Source:
        """The passage behind a citation id, in the form users send it back.

        Raises:
            InvalidInput: it does not have the form of a citation id.
            NotFound: UNKNOWN_CITATION.
            Unavailable: the ingest service does not answer.
        """
        return await self._passages.passage(accepted_citation_id(citation_id))
