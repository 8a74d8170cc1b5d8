"""A cross-encoder behind vLLM's HTTP API, as a radref reranker."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from inference_svc.model_server.connection import open_client
from inference_svc.model_server.failure import Failed, too_late
from inference_svc.model_server.retry import Retry
from inference_svc.places import Places
from inference_svc.rerankers.reranker import RerankedDocuments, RerankerDescription
from inference_svc.rerankers.vllm.api import RerankApi, Scores
from inference_svc.rerankers.vllm.fitting import fitted
from inference_svc.rerankers.vllm.template import (
    Template,
    document_text,
    harmless,
    query_text,
    template_text,
)
from radref.errors import Internal, InvalidInput, Overloaded, Unavailable
from radref.service.context import downstream_timeout

# Tokens may split otherwise where query, template and document meet; a few at each of three seams.
_SEAM_TOKENS = 16
# Less room than this is no room for a document.
_LEAST_DOCUMENT_TOKENS = 32
_COUNTS_AT_ONCE = 8
_PROBE = "readiness"


@dataclass(frozen=True, slots=True)
class _Shape:
    """What the server told: tokens it reads at once, and tokens of template and special tokens."""

    window: int
    overhead: int


class VllmReranker:
    """Scores through POST /rerank; belongs to one event loop.

    For Qwen3-Reranker with `template=Template.CLIENT` the server is started without a chat template:

        vllm serve /models/Qwen3-Reranker-0.6B --served-model-name qwen3-reranker --runner pooling \\
            --max-model-len 8192 --hf-overrides '{"architectures": ["Qwen3ForSequenceClassification"],
            "classifier_from_token": ["no", "yes"], "is_original_qwen3_reranker": true}'

    vLLM 0.32 then keeps the difference of the rows "yes" and "no" of the LM head as a classifier, puts query
    and document together with nothing between and answers the sigmoid, which is the softmax over both logits.
    With `Template.SERVER` the same command gets `--chat-template` with the model's score template, and the
    instruction travels in the request.

    A document is cut at its own end, before the template is put around it. Its tokens are counted by the
    server (POST /tokenize), but only where it may be too long: as long as query, document and template
    together have fewer characters than the window has tokens they are sent as they are, and if the server
    refuses them after all (texts with more than a token a character) they are counted then.

    The server's weights cannot be seen from here: the fingerprint covers names, template and instruction, so
    whoever changes the weights under a served name gives it another `id` or served name.

    Args:
        id: model id of requests, e.g. "qwen3-reranker".
        base_url: address of the server's root, e.g. "http://vllm-reranker:8000"; "/v1" at its end is dropped.
        upstream_model: name under which the server serves the model.
        instruction: what relevance means; part of the template. Not empty with `Template.CLIENT`.
        template: who puts query and document into the model's template.
        api_key: bearer token; empty = none is sent.
        timeout: seconds for a whole request, > 0; an earlier deadline of the caller holds.
        places: bounds requests at the server.
        observe_compute: called with the seconds of a request that was answered.
        attempts: how often a request is sent, 1 or more.
        first_pause: seconds before the second attempt, > 0; see `Retry`.
        ca_file: PEM file of the only authorities trusted for https; None = those of the system.

    Raises:
        ValueError: base_url, api_key or ca_file cannot be used.
    """

    def __init__(
        self,
        *,
        id: str,
        base_url: str,
        upstream_model: str,
        instruction: str,
        template: Template,
        api_key: str,
        timeout: float,
        places: Places,
        observe_compute: Callable[[float], None],
        attempts: int = 3,
        first_pause: float = 0.1,
        ca_file: Path | None = None,
    ) -> None:
        self._id = id
        self._backend = f"reranker {id}"
        self._template = template
        self._instruction = instruction
        asked = json.dumps([id, upstream_model, template.value, template_text(template), instruction])
        self._fingerprint = hashlib.sha256(asked.encode("utf-8")).hexdigest()[:16]
        self._timeout = timeout
        self._places = places
        self._observe_compute = observe_compute
        self._retry = Retry(attempts, first_pause)
        root = base_url.rstrip("/").removesuffix("/v1")
        self._client = open_client(base_url=root, api_key=api_key, ca_file=ca_file)
        self._api = RerankApi(self._client, upstream_model, self._backend)
        self._shape: _Shape | None = None

    @property
    def id(self) -> str:
        return self._id

    @property
    def description(self) -> RerankerDescription:
        if self._shape is None:
            raise Unavailable(f"the {self._backend} has not answered yet", reason="NOT_READY")
        return RerankerDescription(self._id, "vllm", self._fingerprint, self._shape.window)

    async def rerank(self, query: str, documents: Sequence[str]) -> RerankedDocuments:
        deadline = self._deadline()
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout_at(deadline):
                    await held.enter_async_context(self._places.place())
            except TimeoutError:
                raise too_late(self._backend).error from None
            started = time.monotonic()
            found = await self._retry.run(lambda: self._reranked(query, documents, deadline), deadline)
            self._observe_compute(time.monotonic() - started)
            return found

    async def check(self) -> None:
        """One real request each time: a server that came back with another window is noticed here.

        Raises:
            Unavailable: NOT_READY while the first request is refused for load or because the server loads.
            RadrefError: whatever `rerank` raises.
        """
        try:
            self._shape = await self._measured(self._deadline())
        except Failed as failed:
            if not isinstance(failed.error, Overloaded):
                raise failed.error from None
            if self._shape is None:
                message = f"the {self._backend} is still loading, or too busy for a first answer"
                raise Unavailable(message, reason="NOT_READY") from None

    async def close(self) -> None:
        await self._client.close()

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + downstream_timeout(self._timeout)

    async def _measured(self, deadline: float) -> _Shape:
        """Window and overhead: what one request took beyond its two texts."""
        probe = await self._api.tokens(_PROBE, deadline)
        used = (await self._scores(_PROBE, [_PROBE], deadline)).prompt_tokens
        return _Shape(probe.window, max(0, used - 2 * probe.count))

    async def _reranked(self, query: str, documents: Sequence[str], deadline: float) -> RerankedDocuments:
        if self._shape is None:
            self._shape = await self._measured(deadline)
        query = harmless(query)
        longest = max(map(len, documents))
        if len(query) + longest + self._shape.overhead + _SEAM_TOKENS <= self._shape.window:
            whole = [harmless(document) for document in documents]
            try:
                found = await self._scores(query, whole, deadline)
                return RerankedDocuments(found.scores, [False] * len(documents), self._fingerprint)
            except Failed as failed:
                if failed.error.reason != "TEXT_TOO_LONG":
                    raise
                # More tokens than characters, or the server came back with a smaller window.
                self._shape = await self._measured(deadline)
        return await self._counted(query, documents, self._shape, deadline)

    async def _counted(
        self, query: str, documents: Sequence[str], shape: _Shape, deadline: float
    ) -> RerankedDocuments:
        asked = (await self._api.tokens(query, deadline)).count
        room = shape.window - shape.overhead - asked - _SEAM_TOKENS
        if room < _LEAST_DOCUMENT_TOKENS:
            raise InvalidInput(
                f"the question leaves the {self._backend} no room for a document",
                reason="TEXT_TOO_LONG",
                field="query",
                metadata={"limit": str(shape.window)},
            )
        cut = await self._fitted(documents, room, deadline)
        try:
            found = await self._scores(query, [text for text, _ in cut], deadline)
        except Failed as failed:
            if failed.error.reason != "TEXT_TOO_LONG":
                raise
            error = Internal(f"the {self._backend} refuses texts that fit by its own count")
            raise Failed(error, passing=False) from None
        return RerankedDocuments(found.scores, [truncated for _, truncated in cut], self._fingerprint)

    async def _fitted(self, documents: Sequence[str], room: int, deadline: float) -> list[tuple[str, bool]]:
        places = asyncio.Semaphore(_COUNTS_AT_ONCE)

        async def count(text: str) -> int:
            async with places:
                return (await self._api.tokens(text, deadline)).count

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(fitted(harmless(document), room, count)) for document in documents]
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _scores(self, query: str, documents: Sequence[str], deadline: float) -> Scores:
        return await self._api.rerank(
            query_text(self._template, query, self._instruction),
            [document_text(self._template, document) for document in documents],
            self._instruction if self._template is Template.SERVER else "",
            deadline,
        )
