"""Async client for integrators: typed messages in and out, errors of `radref.errors`.

async with RadrefClient(gateway="127.0.0.1:7100", ingest="127.0.0.1:7103") as client:
    answer = await client.generate("What is the annual eye lens dose limit for staff?")

With access control and TLS:

RadrefClient(gateway="radref.example:7100", token=get_token, tls=TlsFiles(ca=Path("ca.pem")))
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from inspect import isawaitable
from types import TracebackType
from typing import Self, TypeAlias

from radref import rpc
from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import consult_pb2, gateway_pb2, gateway_pb2_grpc
from radref.errors import Internal, InvalidInput
from radref.knowledge_base import KnowledgeBase
from radref.retry_policy import ATTEMPTS
from radref.service.actor import actor_metadata
from radref.service.channels import Authorization, open_channel
from radref.service.loopback import stays_on_this_machine
from radref.service.tls.files import TlsFiles

__all__ = ["RadrefClient", "TlsFiles", "Token"]

# A bearer token without "Bearer", or what gives one.
Token: TypeAlias = str | Callable[[], str | Awaitable[str]]

# Deadlines of DESIGN section 8 with room for a busy CPU-only site.
ANSWER_TIMEOUT_SECONDS = 60.0
LOOKUP_TIMEOUT_SECONDS = 15.0


class RadrefClient:
    """A connection to one radref.

    Args:
        gateway: host:port of the gateway.
        ingest: host:port of the ingest service; needed for documents only.
        actor: who asks, changes documents or gives feedback, for the audit trail, 1-200 printable
            characters; empty = "local".
            Counts only while the service has no access control; with it the token's subject is the actor.
        token: bearer token, or what returns one, awaited where it is a coroutine; asked before every call,
            so it should keep the token until it runs out. None = no token.
        tls: authorities and, where the service asks for one, an own certificate; files that are replaced
            are picked up. None = no TLS, for loopback and meshes.
        allow_insecure_token: send the token without TLS to another machine, where it can be read on the way;
            only where a service mesh encrypts that way.

    Attributes:
        kb: the documents: uploads, jobs, reviews, versions, upkeep, audit trail.

    Every method raises a RadrefError: Unavailable when the service does not answer, DeadlineExceeded when
    it takes too long, Unauthenticated and PermissionDenied when the token does not do, InvalidInput and
    NotFound with the reason the service gave. Calls that change nothing are tried three times while the
    service is not reached.

    Raises:
        ValueError: the certificate files cannot be used.
        InvalidInput: a token would leave this machine without TLS.
    """

    def __init__(
        self,
        *,
        gateway: str = "127.0.0.1:7100",
        ingest: str = "127.0.0.1:7103",
        actor: str = "",
        token: Token | None = None,
        tls: TlsFiles | None = None,
        allow_insecure_token: bool = False,
    ) -> None:
        if token is not None and tls is None and not allow_insecure_token:
            _refuse_readable_token(gateway=gateway, ingest=ingest)
        header = None if token is None else _authorization(token)
        self._gateway_channel = open_channel(gateway, tls=tls, authorization=header, attempts=ATTEMPTS)
        self._ingest_channel = open_channel(ingest, tls=tls, authorization=header, attempts=ATTEMPTS)
        self._gateway = gateway_pb2_grpc.GatewayServiceStub(self._gateway_channel)
        self._actor = actor_metadata(actor)
        self.kb = KnowledgeBase(self._ingest_channel, actor=actor)
        # The daily ones without the detour.
        self.submit_file = self.kb.submit_file
        self.parse_file = self.kb.parse_file
        self.watch_job = self.kb.watch_job
        self.retry_job = self.kb.retry_job
        self.list_documents = self.kb.list_documents
        self.withdraw_document = self.kb.withdraw_document

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._gateway_channel.close()
        await self._ingest_channel.close()

    async def search(
        self,
        query: str,
        *,
        legs: Sequence[documents_pb2.SearchLeg.ValueType] = (),
        rerank: gateway_pb2.RerankMode.ValueType = gateway_pb2.RERANK_MODE_UNSPECIFIED,
        limits: documents_pb2.SearchLimits | None = None,
        filters: documents_pb2.SearchFilters | None = None,
        want_candidates: bool = False,
        timeout: float = LOOKUP_TIMEOUT_SECONDS,
    ) -> gateway_pb2.SearchResponse:
        """Ranked passages. `timeout` in seconds."""
        request = gateway_pb2.SearchRequest(
            query=query,
            legs=legs,
            rerank=rerank,
            limits=limits,
            filters=filters,
            want_candidates=want_candidates,
        )
        return await rpc.call(self._gateway.Search(request, timeout=timeout, metadata=self._actor), "gateway")

    async def prompt(
        self,
        query: str,
        *,
        filters: documents_pb2.SearchFilters | None = None,
        timeout: float = LOOKUP_TIMEOUT_SECONDS,
    ) -> gateway_pb2.PromptResponse:
        """The prompt that would be sent, without generating. `timeout` in seconds."""
        request = gateway_pb2.PromptRequest(query=query, filters=filters)
        return await rpc.call(self._gateway.Prompt(request, timeout=timeout, metadata=self._actor), "gateway")

    async def generate(
        self,
        query: str,
        *,
        filters: documents_pb2.SearchFilters | None = None,
        model: str = "",
        want_prompt: bool = False,
        timeout: float = ANSWER_TIMEOUT_SECONDS,
    ) -> gateway_pb2.GenerateResponse:
        """A checked answer or an abstention. `timeout` in seconds."""
        request = gateway_pb2.GenerateRequest(
            query=query, filters=filters, model=model, want_prompt=want_prompt
        )
        return await rpc.call(
            self._gateway.Generate(request, timeout=timeout, metadata=self._actor), "gateway"
        )

    async def stream_generate(
        self,
        query: str,
        *,
        filters: documents_pb2.SearchFilters | None = None,
        model: str = "",
        timeout: float = ANSWER_TIMEOUT_SECONDS,
    ) -> AsyncIterator[gateway_pb2.StreamGenerateResponse]:
        """The sources, then checked statements, then the end. `timeout` in seconds, of the whole answer."""
        request = gateway_pb2.StreamGenerateRequest(query=query, filters=filters, model=model)
        call = self._gateway.StreamGenerate(request, timeout=timeout, metadata=self._actor)
        whole = False
        try:
            async for response in rpc.stream(call, "gateway"):
                whole = response.HasField("end")
                yield response
            if not whole:
                raise Internal("the answer broke off without its end: what came of it is not whole")
        finally:
            # Who stops reading wants no more of it: generation ends with the call.
            call.cancel()

    async def consult(
        self, scenario: str, *, timeout: float = ANSWER_TIMEOUT_SECONDS
    ) -> consult_pb2.ConsultResponse:
        """Imaging appropriateness for a clinical scenario without patient data. `timeout` in seconds."""
        request = consult_pb2.ConsultRequest(scenario=scenario)
        return await rpc.call(
            self._gateway.Consult(request, timeout=timeout, metadata=self._actor), "gateway"
        )

    async def submit_feedback(
        self,
        request_id: str,
        *,
        ratings: Sequence[gateway_pb2.CriterionRating] = (),
        passages: Sequence[gateway_pb2.PassageRating] = (),
        comment: str = "",
        timeout: float = LOOKUP_TIMEOUT_SECONDS,
    ) -> str:
        """Stores a verdict on a request, in place of an earlier one of the same user; returns its id."""
        request = gateway_pb2.SubmitFeedbackRequest(
            request_id=request_id, ratings=ratings, passages=passages, comment=comment
        )
        call = self._gateway.SubmitFeedback(request, timeout=timeout, metadata=self._actor)
        response: gateway_pb2.SubmitFeedbackResponse = await rpc.call(call, "gateway")
        return response.feedback_id

    async def query_audit(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        actor: str = "",
        citation_id: str = "",
        request_id: str = "",
        page_size: int = 0,
        timeout: float = LOOKUP_TIMEOUT_SECONDS,
    ) -> AsyncIterator[gateway_pb2.AuditEntry]:
        """Requests, newest first, page by page.

        Args:
            since: from this moment on, aware; None = from the start.
            until: until just before this moment, aware; None = until now.
            actor: only of this user; empty = all.
            citation_id: only answers that cite this passage, and searches that returned it; empty = all.
            request_id: only this request; empty = all.
            page_size: entries fetched at once, 1-1000; 0 = 100.
            timeout: seconds, for a page.
        """
        request = gateway_pb2.QueryAuditRequest(
            actor=actor, citation_id=citation_id, request_id=request_id, page_size=page_size
        )
        _set_span(request, since, until)
        while True:
            call = self._gateway.QueryAudit(request, timeout=timeout, metadata=self._actor)
            page: gateway_pb2.QueryAuditResponse = await rpc.call(call, "gateway")
            for entry in page.entries:
                yield entry
            request.page_token = page.next_page_token
            if not page.next_page_token:
                return

    async def list_feedback(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        actor: str = "",
        request_id: str = "",
        page_size: int = 0,
        timeout: float = LOOKUP_TIMEOUT_SECONDS,
    ) -> AsyncIterator[gateway_pb2.FeedbackEntry]:
        """Verdicts of users, newest first, page by page; arguments as `query_audit`."""
        request = gateway_pb2.ListFeedbackRequest(actor=actor, request_id=request_id, page_size=page_size)
        _set_span(request, since, until)
        while True:
            call = self._gateway.ListFeedback(request, timeout=timeout, metadata=self._actor)
            page: gateway_pb2.ListFeedbackResponse = await rpc.call(call, "gateway")
            for entry in page.entries:
                yield entry
            request.page_token = page.next_page_token
            if not page.next_page_token:
                return

    async def get_source(
        self, citation_id: str, *, timeout: float = LOOKUP_TIMEOUT_SECONDS
    ) -> gateway_pb2.GetSourceResponse:
        """The passage behind a citation. `timeout` in seconds."""
        request = gateway_pb2.GetSourceRequest(citation_id=citation_id)
        return await rpc.call(self._gateway.GetSource(request, timeout=timeout), "gateway")


def _refuse_readable_token(**targets: str) -> None:
    for name, target in targets.items():
        if not stays_on_this_machine(target):
            raise InvalidInput(
                f"the token would travel readable to the {name} at {target}: give tls (command line: "
                "RADREF_CA_FILE), or allow_insecure_token=True where a service mesh encrypts the way",
                field="token",
            )


def _authorization(token: Token) -> Authorization:
    async def header() -> str:
        value = token() if callable(token) else token
        return f"Bearer {await value if isawaitable(value) else value}"

    return header


def _set_span(
    request: gateway_pb2.QueryAuditRequest | gateway_pb2.ListFeedbackRequest,
    since: datetime | None,
    until: datetime | None,
) -> None:
    if since is not None:
        # `from` is a word of Python.
        getattr(request, "from").FromDatetime(since)
    if until is not None:
        request.until.FromDatetime(until)
