"""The embedding models of the inference service, and the one that the index is searched with."""

from __future__ import annotations

from collections.abc import Sequence

import grpc

from ingest_svc.clients import InferenceClient, Timeouts
from ingest_svc.jobs.ports import Embedded, EmbeddedSpans, EmbeddingModel, Inference, Tokens
from radref.api.inference.v1 import inference_pb2, inference_pb2_grpc
from radref.api.retrieval.v1 import index_pb2, index_pb2_grpc
from radref.errors import Internal, InvalidInput, PreconditionFailed
from radref.service.status import error_from_rpc


class EmbeddingModels:
    """Loaded models, over a channel made by `radref.service.channels.open_channel`."""

    def __init__(self, channel: grpc.aio.Channel, timeouts: Timeouts) -> None:
        self._channel = channel
        self._stub = inference_pb2_grpc.InferenceServiceStub(channel)
        self._timeouts = timeouts

    async def loaded(self) -> Sequence[EmbeddingModel]:
        """Every loaded model, the default one first; at least one.

        Raises:
            RadrefError: what inference answered, or Unavailable when it does not answer.
        """
        try:
            response = await self._stub.Describe(
                inference_pb2.DescribeRequest(), timeout=self._timeouts.short
            )
        except grpc.aio.AioRpcError as exc:
            raise error_from_rpc(exc, backend="inference") from exc
        found = [
            EmbeddingModel(model.id, model.fingerprint, model.tokenizer, model.document_overhead)
            for model in response.models
            if model.kind == inference_pb2.MODEL_KIND_EMBEDDER and model.fingerprint
        ]
        if not found:
            raise Internal("The inference service names no embedding model.")
        return found

    async def named(self, model_id: str) -> EmbeddingModel:
        """The model with this id; empty = the default one.

        Raises:
            InvalidInput: UNKNOWN_MODEL, naming the loaded ones.
            RadrefError: as `loaded`.
        """
        loaded = await self.loaded()
        for model in loaded:
            if model_id in ("", model.id):
                return model
        names = ", ".join(model.id for model in loaded)
        raise InvalidInput(
            f"This embedding model is not loaded; loaded: {names}.", reason="UNKNOWN_MODEL", field="model"
        )

    async def with_fingerprint(self, fingerprint: str) -> EmbeddingModel:
        """The model with this fingerprint.

        Raises:
            PreconditionFailed: MODEL_FINGERPRINT_MISMATCH, it is not loaded.
            RadrefError: as `loaded`.
        """
        for model in await self.loaded():
            if model.fingerprint == fingerprint:
                return model
        raise PreconditionFailed(
            "The embedding model of the index is not loaded: load it as inference.embedder or "
            "inference.second_embedder.",
            reason="MODEL_FINGERPRINT_MISMATCH",
            metadata={"index": fingerprint},
        )

    def inference(self, model_id: str) -> Inference:
        """Calls of one model; empty = the default one."""
        return InferenceClient(self._channel, self._timeouts, model=model_id)


class SearchedModel:
    """`Inference` by the model that the index is searched with; by the default one while it is empty.

    Which one that is, is looked up before a document is cut and before it is embedded. Where the index is
    switched to another model in between, vectors of two models meet, which `embed_chunks` notices.
    """

    def __init__(self, models: EmbeddingModels, index: grpc.aio.Channel, timeouts: Timeouts) -> None:
        """
        Args:
            index: channel to the retrieval service.
        """
        self._models = models
        self._stub = index_pb2_grpc.IndexServiceStub(index)
        self._timeouts = timeouts
        self._current = models.inference("")

    async def fingerprint(self) -> str:
        await self._look_up()
        return await self._current.fingerprint()

    async def tokenize(self, text: str) -> Tokens:
        await self._look_up()
        return await self._current.tokenize(text)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return await self._current.embed(texts)

    async def embed_spans(self, texts: Sequence[tuple[str, Sequence[tuple[int, int]]]]) -> EmbeddedSpans:
        return await self._current.embed_spans(texts)

    async def _look_up(self) -> None:
        try:
            stats = await self._stub.GetStats(index_pb2.GetStatsRequest(), timeout=self._timeouts.short)
        except grpc.aio.AioRpcError as exc:
            raise error_from_rpc(exc, backend="retrieval") from exc
        fingerprint = stats.embedder_fingerprint
        model = (await self._models.with_fingerprint(fingerprint)).id if fingerprint else ""
        self._current = self._models.inference(model)
