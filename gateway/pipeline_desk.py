"""The desk over the pipeline: a stream is the finished answer in pieces. gateway/desk.py takes its place."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gateway.counting import count
from gateway.model import Answer, Filters, PromptResult, SearchQuery, SearchResult, Source
from gateway.pipeline import Pipeline
from gateway.ports import PassageKeeping
from gateway.rest.ports import Sources
from gateway.sources import accepted_citation_id
from gateway.validation import ValidatedStatement
from radref.errors import Unimplemented


class PipelineDesk:
    """Answers with a pipeline and the registry's passages."""

    def __init__(self, pipeline: Pipeline, passages: PassageKeeping) -> None:
        self._pipeline = pipeline
        self._passages = passages

    async def search(self, query: SearchQuery) -> SearchResult:
        return await self._pipeline.search(query)

    async def prompt(self, question: str, filters: Filters) -> PromptResult:
        return await self._pipeline.prompt(question, filters)

    async def answer(self, question: str, filters: Filters, model: str = "") -> Answer:
        answer = await self._pipeline.answer(question, filters, model)
        count(answer)
        return answer

    async def answer_stream(
        self, question: str, filters: Filters, model: str = ""
    ) -> AsyncIterator[Sources | ValidatedStatement | Answer]:
        answer = await self.answer(question, filters, model)
        yield Sources(answer.parents)
        for statement in answer.statements:
            yield statement
        yield answer

    async def consult(self, scenario: str) -> object:
        raise Unimplemented(
            "Consult is not in this release: appropriateness consults come with a later release"
        )

    async def source(self, citation_id: str) -> Source:
        return await self._passages.passage(accepted_citation_id(citation_id))
