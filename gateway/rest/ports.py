"""What the REST facade needs of the rest of the gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from gateway.consult.result import Consultation
from gateway.model import Answer, AnswerEvent, Filters, PromptResult, SearchQuery, SearchResult, Source
from radref.service.context import Call


class Desk(Protocol):
    """What this facade calls of `gateway.desk.Desk`."""

    async def search(self, query: SearchQuery, *, actor: str) -> SearchResult: ...

    async def prompt(self, question: str, filters: Filters, *, actor: str) -> PromptResult: ...

    async def answer(self, question: str, filters: Filters, model: str = "", *, actor: str) -> Answer: ...

    def answer_stream(
        self, question: str, filters: Filters, model: str = "", *, actor: str
    ) -> AsyncIterator[AnswerEvent]:
        """Sources, then statements that passed the validator, last the whole answer."""
        ...

    async def consult(self, scenario: str, *, actor: str) -> Consultation:
        """A recommendation of one variant, or an abstention."""
        ...

    async def source(self, citation_id: str) -> Source: ...


class Guard(Protocol):
    """Access, rate limit, admission and deadline around one call."""

    def around(
        self, *, method: str, authorization: str | None, request_id: str | None, timeout: float | None
    ) -> AbstractAsyncContextManager[Call]:
        """Sets the current call for the block.

        Args:
            method: full name of the equivalent RPC, "/package.Service/Method": roles are given for it.
            authorization: value of the header; None = absent.
            request_id: well-formed id of the request.
            timeout: seconds until the answer is due.

        Raises:
            RadrefError: the call is refused; DeadlineExceeded when the block ran past `timeout`.
        """
        ...
