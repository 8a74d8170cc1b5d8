"""The inference service as retrieval needs it: the vector of a question."""

from __future__ import annotations

from collections.abc import Callable

import grpc
import structlog

from radref.api.inference.v1 import inference_pb2, inference_pb2_grpc
from radref.errors import Internal, PreconditionFailed
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

    async def embed_query(self, text: str) -> QueryEmbedding:
        """Vector of one question, 1-20000 characters, by the default embedder.

        Raises:
            RadrefError: what inference answered, or Unavailable when it does not answer.
        """
        request = inference_pb2.EmbedRequest(queries=inference_pb2.EmbedQueries(texts=[text]))
        try:
            response = await self._stub.Embed(request, timeout=self._timeout)
        except grpc.aio.AioRpcError as exc:
            raise error_from_rpc(exc, backend=_BACKEND) from exc
        if len(response.texts) != 1 or len(response.texts[0].embeddings) != 1:
            raise Internal("the inference service answered an embedding request with another number of texts")
        return QueryEmbedding(list(response.texts[0].embeddings[0].values), response.fingerprint)

    async def embedder_fingerprint(self) -> str:
        """Fingerprint of the default embedder.

        Raises:
            RadrefError: what inference answered, or Unavailable when it does not answer.
        """
        try:
            response = await self._stub.Describe(inference_pb2.DescribeRequest(), timeout=self._timeout)
        except grpc.aio.AioRpcError as exc:
            raise error_from_rpc(exc, backend=_BACKEND) from exc
        for model in response.models:
            if model.kind == inference_pb2.MODEL_KIND_EMBEDDER:
                fingerprint: str = model.fingerprint
                return fingerprint
        raise Internal("the inference service has no embedder")


class EmbedderCheck:
    """Readiness check: inference answers, and with the embedder that the index was built with.

    Args:
        expected: fingerprint of the index's embedder; empty while the index is empty.
    """

    def __init__(self, client: InferenceClient, expected: Callable[[], str]) -> None:
        self._client = client
        self._expected = expected
        self._reported = ""

    async def __call__(self) -> None:
        """Raises RadrefError when inference does not answer or has another embedder (logged once)."""
        loaded = await self._client.embedder_fingerprint()
        expected = self._expected()
        if expected and loaded != expected:
            if self._reported != loaded:
                log.error("index built with another embedder than is loaded", index=expected, loaded=loaded)
                self._reported = loaded
            raise PreconditionFailed(
                "the index was built with another embedding model than the one that is loaded",
                reason="MODEL_FINGERPRINT_MISMATCH",
            )
