"""gRPC clients of the neighbours: inference and index. What they answer is checked before it is believed."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import grpc

from ingest_svc.jobs.ports import Embedded, EmbeddedSpans, StagedDocument, Tokens
from ingest_svc.messages import metadata_to_proto, pages_to_proto
from radref.api.common.v1 import documents_pb2
from radref.api.inference.v1 import inference_pb2, inference_pb2_grpc
from radref.api.retrieval.v1 import index_pb2, index_pb2_grpc
from radref.errors import Internal
from radref.service.status import error_from_rpc

# A call's text, in code points: the answer with the offsets of all its tokens stays far below the limit of a
# message, and no call runs for minutes. The API itself allows 2,000,000.
TOKENIZE_PIECE = 200_000
# Of a message of StageDocument; the API allows 256 of each.
STAGE_BATCH = 64
# Code points of parents' text in a message, so that long tables do not make it huge.
STAGE_BATCH_CHARACTERS = 500_000

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds of one call: `short` for look-ups and switches, `embed` a batch, `stage` a whole document."""

    short: float
    embed: float
    stage: float


class InferenceClient:
    """`ingest_svc.jobs.ports.Inference` over gRPC, with one embedding model.

    Args:
        model: its id; empty = the inference service's default.
    """

    def __init__(self, channel: grpc.aio.Channel, timeouts: Timeouts, *, model: str = "") -> None:
        self._stub = inference_pb2_grpc.InferenceServiceStub(channel)
        self._timeouts = timeouts
        self._model = model

    async def fingerprint(self) -> str:
        response = await _answer(
            self._stub.Describe(inference_pb2.DescribeRequest(), timeout=self._timeouts.short), "inference"
        )
        for model in response.models:
            # The first of a kind is the default, the one that Embed uses.
            if (
                model.kind == inference_pb2.MODEL_KIND_EMBEDDER
                and model.fingerprint
                and self._model in ("", model.id)
            ):
                return str(model.fingerprint)
        raise Internal("The inference service names no such embedding model.")

    async def tokenize(self, text: str) -> Tokens:
        offsets: list[tuple[int, int]] = []
        overhead = 0
        for start, end in pieces(text, TOKENIZE_PIECE):
            piece = text[start:end]
            response = await _answer(
                self._stub.Tokenize(
                    inference_pb2.TokenizeRequest(model=self._model, texts=[piece], want_offsets=True),
                    timeout=self._timeouts.embed,
                ),
                "inference",
            )
            if len(response.texts) != 1 or len(response.texts[0].offsets) != response.texts[0].count:
                raise _garbled("inference", "Tokenize")
            overhead = response.overhead
            before = 0
            for span in response.texts[0].offsets:
                if not before <= span.start <= span.end <= len(piece):
                    raise _garbled("inference", "Tokenize")
                before = span.start
                offsets.append((start + span.start, start + span.end))
        return Tokens(offsets, overhead)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        response = await _answer(
            self._stub.Embed(
                inference_pb2.EmbedRequest(
                    model=self._model, documents=inference_pb2.EmbedDocuments(texts=texts)
                ),
                timeout=self._timeouts.embed,
            ),
            "inference",
        )
        vectors = [tuple(item.values) for text in response.texts for item in text.embeddings]
        if (
            len(response.texts) != len(texts)
            or len(vectors) != len(texts)
            or not _usable(response.fingerprint, vectors)
        ):
            raise _garbled("inference", "Embed")
        return Embedded(response.fingerprint, vectors)

    async def embed_spans(self, texts: Sequence[tuple[str, Sequence[tuple[int, int]]]]) -> EmbeddedSpans:
        spanned = [
            inference_pb2.SpannedText(
                text=text, spans=[documents_pb2.Span(start=start, end=end) for start, end in spans]
            )
            for text, spans in texts
        ]
        response = await _answer(
            self._stub.Embed(
                inference_pb2.EmbedRequest(model=self._model, spans=inference_pb2.EmbedSpans(texts=spanned)),
                timeout=self._timeouts.embed,
            ),
            "inference",
        )
        vectors = [[tuple(item.values) for item in text.embeddings] for text in response.texts]
        counts = [len(spans) for _, spans in texts]
        if [len(own) for own in vectors] != counts or not _usable(
            response.fingerprint, [vector for own in vectors for vector in own]
        ):
            raise _garbled("inference", "Embed")
        return EmbeddedSpans(response.fingerprint, vectors)


class IndexClient:
    """`ingest_svc.jobs.ports.Index` over gRPC."""

    def __init__(self, channel: grpc.aio.Channel, timeouts: Timeouts) -> None:
        self._stub = index_pb2_grpc.IndexServiceStub(channel)
        self._timeouts = timeouts

    async def stage(self, document: StagedDocument) -> None:
        response = await _answer(
            self._stub.StageDocument(_stage_messages(document), timeout=self._timeouts.stage), "retrieval"
        )
        if (response.parents, response.children) != (len(document.parents), len(document.children)):
            raise _garbled("retrieval", "StageDocument")

    async def activate(self, document_id: str, version: int) -> int:
        response = await _answer(
            self._stub.ActivateVersion(
                index_pb2.ActivateVersionRequest(document_id=document_id, version=version),
                timeout=self._timeouts.short,
            ),
            "retrieval",
        )
        return int(response.previous_version)

    async def withdraw(self, document_id: str) -> int:
        response = await _answer(
            self._stub.WithdrawDocument(
                index_pb2.WithdrawDocumentRequest(document_id=document_id), timeout=self._timeouts.short
            ),
            "retrieval",
        )
        return int(response.previous_version)


def pieces(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Cuts a long text into [start, end) of at most `limit` code points: between blocks, else at white space.

    Tokens do not reach over a blank line, so the pieces' tokens are those of the whole text.
    """
    start = 0
    while start < len(text):
        end = min(len(text), start + limit)
        if end < len(text):
            for mark in ("\n\n", "\n", " "):
                cut = text.rfind(mark, start + 1, end)
                if cut > start:
                    end = cut
                    break
        if text[start:end].strip():
            yield start, end
        start = end


async def _stage_messages(document: StagedDocument) -> AsyncIterator[index_pb2.StageDocumentRequest]:
    yield index_pb2.StageDocumentRequest(
        header=index_pb2.StageHeader(
            document_id=document.document_id,
            version=document.version,
            metadata=metadata_to_proto(document.metadata),
            embedder_fingerprint=document.fingerprint,
            parent_count=len(document.parents),
            child_count=len(document.children),
        )
    )
    batch = index_pb2.StageBatch()
    characters = 0
    for parent in document.parents:
        characters += len(parent.text)
        batch.parents.append(
            index_pb2.StagedParent(
                citation_id=parent.citation_id,
                ordinal=parent.ordinal,
                text=parent.text,
                section_path=parent.section_path,
                pages=pages_to_proto(parent.pages),
            )
        )
        if len(batch.parents) >= STAGE_BATCH or characters >= STAGE_BATCH_CHARACTERS:
            yield index_pb2.StageDocumentRequest(batch=batch)
            batch, characters = index_pb2.StageBatch(), 0
    for child in document.children:
        batch.children.append(
            index_pb2.StagedChild(
                citation_id=child.citation_id,
                ordinal=child.ordinal,
                span=documents_pb2.Span(start=child.start, end=child.end),
                section_path=child.section_path,
                vector=child.vector,
            )
        )
        if len(batch.children) >= STAGE_BATCH:
            yield index_pb2.StageDocumentRequest(batch=batch)
            batch = index_pb2.StageBatch()
    if batch.parents or batch.children:
        yield index_pb2.StageDocumentRequest(batch=batch)


async def _answer(call: Awaitable[R], backend: str) -> R:
    try:
        return await call
    except grpc.aio.AioRpcError as exc:
        error = error_from_rpc(exc, backend=backend)
        error.metadata.setdefault("backend", backend)
        raise error from exc


def _usable(fingerprint: str, vectors: Sequence[tuple[float, ...]]) -> bool:
    """Whether a model is named and all vectors are finite and of one length."""
    return (
        bool(fingerprint)
        and len({len(vector) for vector in vectors}) == 1
        and all(vector and all(map(math.isfinite, vector)) for vector in vectors)
    )


def _garbled(backend: str, method: str) -> Internal:
    return Internal(
        f"The {backend} service gave an answer to {method} that does not fit the question.",
        metadata={"backend": backend},
    )
