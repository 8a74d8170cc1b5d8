"""What the REST facade needs of the rest of the gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from gateway.model import Answer, Filters, PromptResult, RankedPassage, SearchQuery, SearchResult, Source
from gateway.validation import ValidatedStatement
from radref.service.context import Call


@dataclass(frozen=True, slots=True)
class Sources:
    """First event of a streamed answer: the passages it will be made from, best first."""

    parents: tuple[RankedPassage, ...]


class Desk(Protocol):
    """Answers; what both facades call. Every method raises errors of radref.errors."""

    async def search(self, query: SearchQuery) -> SearchResult: ...

    async def prompt(self, question: str, filters: Filters) -> PromptResult: ...

    async def answer(self, question: str, filters: Filters, model: str = "") -> Answer: ...

    def answer_stream(
        self, question: str, filters: Filters, model: str = ""
    ) -> AsyncIterator[Sources | ValidatedStatement | Answer]:
        """Sources, then statements that passed the validator, last the whole answer."""
        ...

    async def consult(self, scenario: str) -> object:
        """Raises Unimplemented in this release."""
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
