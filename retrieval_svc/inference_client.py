"""The inference service as retrieval needs it: the vector of a question, by the model of the index."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import grpc
import structlog

from radref.api.inference.v1 import inference_pb2, inference_pb2_grpc
from radref.errors import Internal, InvalidInput, PreconditionFailed
from radref.service.status import error_from_rpc
from retrieval_svc.retrieve import QueryEmbedding

_BACKEND = "inference"

log = structlog.get_logger()


class InferenceClient:
    """Calls inference.v1 over a channel made by `radref.service.channels.open_channel`.

    Args:
        timeout: seconds for embedding, also when the caller's deadline is later.
    """

    def __init__(self, channel: grpc.aio.Channel, *, timeout: float) -> None:
        self._stub = inference_pb2_grpc.InferenceServiceStub(channel)
        self._timeout = timeout
        self._models: dict[str, str] = {}
        self._asking = asyncio.Lock()

    async def embed_query(self, text: str, fingerprint: str) -> QueryEmbedding:
        """Vector of one question, 1-20000 characters, by the embedder with this fingerprint.

        Raises:
            PreconditionFailed: no loaded embedder has it (MODEL_FINGERPRINT_MISMATCH).
            RadrefError: what inference answered, or Unavailable when it does not answer.
        """
        model = await self.model(fingerprint)
        try:
            embedding = await self._embed(text, model)
        except InvalidInput as exc:
            if exc.reason != "UNKNOWN_MODEL":
                raise
            embedding = None
        if embedding is not None and embedding.fingerprint == fingerprint:
            return embedding
        # The model was exchanged since it was asked for: whoever has the fingerprint now answers.
        self._models.pop(fingerprint, None)
        return await self._embed(text, await self.model(fingerprint))

    async def model(self, fingerprint: str) -> str:
        """Id of the embedder with this fingerprint; asked for once, and again when it is not known.

        Raises:
            PreconditionFailed: no loaded embedder has it (MODEL_FINGERPRINT_MISMATCH).
            RadrefError: what inference answered, or Unavailable when it does not answer.
        """
        if fingerprint not in self._models:
            async with self._asking:
                if fingerprint not in self._models:
                    self._models = await self.embedders()
        try:
            return self._models[fingerprint]
        except KeyError:
            raise PreconditionFailed(
                "the index was built with another embedding model than those that are loaded",
                reason="MODEL_FINGERPRINT_MISMATCH",
                metadata={"index": fingerprint, "loaded": ", ".join(self._models)},
            ) from None

    async def embedders(self) -> dict[str, str]:
        """Model ids of the loaded embedders by fingerprint, the default one first.

        Raises:
            RadrefError: what inference answered, or Unavailable when it does not answer.
        """
        try:
            response = await self._stub.Describe(inference_pb2.DescribeRequest(), timeout=self._timeout)
        except grpc.aio.AioRpcError as exc:
            raise error_from_rpc(exc, backend=_BACKEND) from exc
        found: dict[str, str] = {}
        for model in response.models:
            if model.kind == inference_pb2.MODEL_KIND_EMBEDDER:
                found.setdefault(model.fingerprint, model.id)
        if not found:
            raise Internal("the inference service has no embedder")
        return found

    async def _embed(self, text: str, model: str) -> QueryEmbedding:
        request = inference_pb2.EmbedRequest(model=model, queries=inference_pb2.EmbedQueries(texts=[text]))
        try:
            response = await self._stub.Embed(request, timeout=self._timeout)
        except grpc.aio.AioRpcError as exc:
            raise error_from_rpc(exc, backend=_BACKEND) from exc
        if len(response.texts) != 1 or len(response.texts[0].embeddings) != 1:
            raise Internal("the inference service answered an embedding request with another number of texts")
        return QueryEmbedding(
            list(response.texts[0].embeddings[0].values),
            response.fingerprint,
            compute_milliseconds=response.compute_milliseconds,
        )


class EmbedderCheck:
    """Readiness check: inference answers, and one of its embedders is that of the index.

    Args:
        expected: fingerprint of the index's embedder; empty while the index is empty.
    """

    def __init__(self, client: InferenceClient, expected: Callable[[], str]) -> None:
        self._client = client
        self._expected = expected
        self._reported = ""

    async def __call__(self) -> None:
        """Raises RadrefError when inference does not answer or lacks that embedder (logged once)."""
        loaded = await self._client.embedders()
        expected = self._expected()
        if expected and expected not in loaded:
            names = ", ".join(loaded)
            if self._reported != names:
                log.error("index built with another embedder than is loaded", index=expected, loaded=names)
                self._reported = names
            raise PreconditionFailed(
                "the index was built with another embedding model than those that are loaded",
                reason="MODEL_FINGERPRINT_MISMATCH",
            )
