"""Inference and retrieval services for tests: real gRPC servers in this process, with failures on demand."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc

from ingest_svc.document import Block, BlockKind, ParsedDocument, ParseReport
from radref.api.common.v1 import documents_pb2
from radref.api.inference.v1 import inference_pb2, inference_pb2_grpc
from radref.api.retrieval.v1 import index_pb2, index_pb2_grpc

DIMENSION = 8
Hook = Callable[[str], Awaitable[None]]


def vector_of(text: str) -> list[float]:
    """A unit vector that depends on the text only."""
    raw = [byte - 127.5 for byte in hashlib.sha256(text.encode()).digest()[:DIMENSION]]
    norm = math.sqrt(sum(value * value for value in raw))
    return [value / norm for value in raw]


async def nothing(_method: str) -> None:
    """The hook of a backend that works."""


@dataclass
class FakeInference(inference_pb2_grpc.InferenceServiceServicer):
    """Tokens are words, vectors are hashes. `hook` runs before each call and may raise or kill."""

    hook: Hook = nothing
    fingerprint: str = "0123456789abcdef"
    embedded: list[str] = field(default_factory=list)
    spanned: list[str] = field(default_factory=list)
    vectors_per_text: int = 1
    shift_offsets: int = 0

    async def Describe(self, request: Any, context: Any) -> inference_pb2.DescribeResponse:  # noqa: N802
        await self.hook("Describe")
        model = inference_pb2.ModelDescription(
            id="hash",
            kind=inference_pb2.MODEL_KIND_EMBEDDER,
            fingerprint=self.fingerprint,
            dimension=DIMENSION,
        )
        return inference_pb2.DescribeResponse(models=[model])

    async def Tokenize(self, request: Any, context: Any) -> inference_pb2.TokenizeResponse:  # noqa: N802
        await self.hook("Tokenize")
        texts = []
        for text in request.texts:
            offsets = [
                documents_pb2.Span(start=m.start() + self.shift_offsets, end=m.end() + self.shift_offsets)
                for m in re.finditer(r"\w+|[^\w\s]", text)
            ]
            texts.append(inference_pb2.TokenizedText(count=len(offsets), offsets=offsets))
        return inference_pb2.TokenizeResponse(texts=texts, overhead=4)

    def _spans(self, texts: Any) -> inference_pb2.EmbedResponse:
        """A span's vector depends on the span and on the whole text around it, as in late chunking."""
        self.spanned += [text.text for text in texts]
        return inference_pb2.EmbedResponse(
            fingerprint=self.fingerprint,
            texts=[
                inference_pb2.EmbeddedText(
                    embeddings=[
                        inference_pb2.Embedding(values=vector_of(f"{text.text}:{span.start}-{span.end}"))
                        for span in text.spans
                    ]
                    * self.vectors_per_text
                )
                for text in texts
            ],
        )

    async def Embed(self, request: Any, context: Any) -> inference_pb2.EmbedResponse:  # noqa: N802
        await self.hook("Embed")
        if request.WhichOneof("input") == "spans":
            return self._spans(request.spans.texts)
        texts = list(request.documents.texts)
        self.embedded += texts
        return inference_pb2.EmbedResponse(
            fingerprint=self.fingerprint,
            texts=[
                inference_pb2.EmbeddedText(
                    embeddings=[inference_pb2.Embedding(values=vector_of(text))] * self.vectors_per_text
                )
                for text in texts
            ],
        )


@dataclass
class FakeIndex(index_pb2_grpc.IndexServiceServicer):
    """Keeps what is staged and which versions are searched, and counts activations."""

    hook: Hook = nothing
    staged: dict[tuple[str, int], tuple[index_pb2.StageHeader, list[Any], list[Any]]] = field(
        default_factory=dict
    )
    active: dict[str, int] = field(default_factory=dict)
    activations: list[tuple[str, int]] = field(default_factory=list)

    async def StageDocument(self, request_iterator: Any, context: Any) -> Any:  # noqa: N802
        header, parents, children = None, [], []
        async for request in request_iterator:
            if request.WhichOneof("part") == "header":
                header = request.header
            else:
                parents += request.batch.parents
                children += request.batch.children
            await self.hook("StageDocument")
        assert header is not None
        assert (header.parent_count, header.child_count) == (len(parents), len(children))
        assert {child.citation_id for child in children} == {parent.citation_id for parent in parents}
        self.staged[header.document_id, header.version] = (header, parents, children)
        return index_pb2.StageDocumentResponse(parents=len(parents), children=len(children))

    async def ActivateVersion(self, request: Any, context: Any) -> Any:  # noqa: N802
        await self.hook("before ActivateVersion")
        assert (request.document_id, request.version) in self.staged
        previous = self.active.get(request.document_id, 0)
        self.active[request.document_id] = request.version
        self.activations.append((request.document_id, request.version))
        await self.hook("after ActivateVersion")
        return index_pb2.ActivateVersionResponse(previous_version=previous)

    async def WithdrawDocument(self, request: Any, context: Any) -> Any:  # noqa: N802
        await self.hook("WithdrawDocument")
        return index_pb2.WithdrawDocumentResponse(previous_version=self.active.pop(request.document_id, 0))


class Down(Exception):
    """Raised by a hook: the call breaks as if the backend were gone."""


def failing(times: int, *methods: str) -> Hook:
    """A hook that breaks the first `times` calls of these methods."""
    left = [times]

    async def hook(method: str) -> None:
        if method in methods and left[0] > 0:
            left[0] -= 1
            raise Down

    return hook


@asynccontextmanager
async def serving(inference: FakeInference, index: FakeIndex) -> AsyncIterator[str]:
    """Serves both on one port of the loopback; yields host:port."""
    server = grpc.aio.server()
    inference_pb2_grpc.add_InferenceServiceServicer_to_server(inference, server)
    index_pb2_grpc.add_IndexServiceServicer_to_server(index, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)


class PlainParser:
    """Markdown headings and paragraphs in this process; the real parsers have tests of their own."""

    def __init__(self) -> None:
        self.parsed: list[str] = []

    async def parse(self, data: bytes, file_name: str) -> ParsedDocument:
        self.parsed.append(file_name)
        await asyncio.sleep(0)
        blocks = []
        for piece in data.decode("utf-8").split("\n\n"):
            text = piece.strip()
            if text.startswith("#"):
                blocks.append(Block(BlockKind.HEADING, text, len(text) - len(text.lstrip("#"))))
            elif text:
                blocks.append(Block(BlockKind.PARAGRAPH, text))
        return ParsedDocument(tuple(blocks), "", ParseReport(format="markdown", language="en"))


def long_document(sections: int = 6, words: int = 700) -> bytes:
    """A document of several parents, each of several children."""
    parts = ["# Handbook"]
    for number in range(sections):
        parts.append(f"## Section {number}")
        parts += [
            " ".join(f"word{number}x{paragraph}x{index}" for index in range(50)) + "."
            for paragraph in range(words // 50)
        ]
    return "\n\n".join(parts).encode()
