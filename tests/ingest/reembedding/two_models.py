"""An inference service with two embedding models that count tokens differently, and a knowledge base."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc

from ingest_svc.chunking.model import ChunkLimits
from ingest_svc.clients import IndexClient, Timeouts
from ingest_svc.document import Block, BlockKind, ParseReport
from ingest_svc.embedding_models import EmbeddingModels, SearchedModel
from ingest_svc.jobs.chunk_step import chunk_version
from ingest_svc.jobs.ports import StagedChild, StagedDocument
from ingest_svc.lifecycle import DocumentState
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.reembedding import Reembedding
from ingest_svc.reembedding.index_client import GenerationIndexClient
from ingest_svc.reembedding.restaging import Restaging
from ingest_svc.registry import passages, versions
from ingest_svc.registry.activation import activate_version
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import ParsedContent
from radref.api.common.v1 import documents_pb2
from radref.api.inference.v1 import inference_pb2 as pb
from radref.api.inference.v1 import inference_pb2_grpc
from radref.api.retrieval.v1 import index_pb2_grpc
from radref.service.admission import Admission
from radref.service.channels import open_channel
from radref.service.interceptors import interceptors
from retrieval_svc.inference_client import InferenceClient
from retrieval_svc.query import Query
from retrieval_svc.service import IndexServicer
from tests.retrieval.retrieval_kit import Kit, open_kit, vector_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIMITS = ChunkLimits(parent_tokens=80, child_tokens=64, child_characters=60, margin_tokens=4)
TIMEOUTS = Timeouts(short=20.0, embed=20.0, stage=20.0)
# id, fingerprint, dimension, what a token is, tokens of prefix and special tokens
MODELS = {
    "words": ("aaaaaaaaaaaaaaaa", 32, re.compile(r"\w+|[^\w\s]"), 4),
    "pieces": ("bbbbbbbbbbbbbbbb", 48, re.compile(r"\w{1,3}|[^\w\s]"), 6),
}
WORDS, PIECES = (MODELS[name][0] for name in MODELS)


@dataclass
class TwoModels(inference_pb2_grpc.InferenceServiceServicer):
    """Counts what each model embedded; `loaded` are the models it has."""

    loaded: tuple[str, ...] = ("words", "pieces")
    embedded: Counter[str] = field(default_factory=Counter)

    async def Describe(self, request: Any, context: Any) -> pb.DescribeResponse:  # noqa: N802
        models = []
        for name in self.loaded:
            fingerprint, dimension, _, overhead = MODELS[name]
            models.append(
                pb.ModelDescription(
                    id=name,
                    kind=pb.MODEL_KIND_EMBEDDER,
                    fingerprint=fingerprint,
                    dimension=dimension,
                    document_overhead=overhead,
                    tokenizer=hashlib.sha256(name.encode()).hexdigest()[:16],
                )
            )
        return pb.DescribeResponse(models=models)

    async def Tokenize(self, request: Any, context: Any) -> pb.TokenizeResponse:  # noqa: N802
        _, _, token, overhead = MODELS[request.model or self.loaded[0]]
        texts = []
        for text in request.texts:
            spans = [documents_pb2.Span(start=m.start(), end=m.end()) for m in token.finditer(text)]
            texts.append(pb.TokenizedText(count=len(spans), offsets=spans))
        return pb.TokenizeResponse(texts=texts, overhead=overhead)

    async def Embed(self, request: Any, context: Any) -> pb.EmbedResponse:  # noqa: N802
        name = request.model or self.loaded[0]
        fingerprint, dimension, token, overhead = MODELS[name]
        texts = list(request.documents.texts)
        self.embedded[name] += len(texts)
        for text in texts:
            assert len(token.findall(text)) + overhead <= LIMITS.child_tokens
        found = texts or list(request.queries.texts)
        return pb.EmbedResponse(
            fingerprint=fingerprint,
            texts=[
                pb.EmbeddedText(embeddings=[pb.Embedding(values=vector_of(text, dimension))])
                for text in found
            ],
        )


def content(*paragraphs: str) -> ParsedContent:
    blocks = (Block(BlockKind.HEADING, "# Handbook", 1), *(Block(BlockKind.PARAGRAPH, p) for p in paragraphs))
    return ParsedContent(blocks, "", ParseReport())


@dataclass
class KnowledgeBase:
    """Registry, index and models; what is published is searched."""

    database: Database
    models: TwoModels
    inference: EmbeddingModels
    index: GenerationIndexClient
    staging: IndexClient
    kit: Kit
    index_channel: grpc.aio.Channel

    @property
    def reembedding(self) -> Reembedding:
        restaging = Restaging(
            database=self.database,
            models=self.inference,
            index=self.index,
            limits=LIMITS,
            embed_batch=4,
            late_chunking=False,
        )
        return Reembedding(
            database=self.database, models=self.inference, index=self.index, restaging=restaging
        )

    def searched_model(self) -> SearchedModel:
        return SearchedModel(self.inference, self.index_channel, TIMEOUTS)

    async def publish(self, document: str, *paragraphs: str) -> set[str]:
        """A new version of the document, searched. Returns its citation ids."""
        parsed = content(*paragraphs)
        digest = hashlib.sha256("\n".join((document, *paragraphs)).encode()).hexdigest()

        def add(session: Any) -> Any:
            added = versions.add_version(
                session,
                document_id=document,
                sha256=digest,
                size_bytes=1,
                file_name="a.md",
                metadata=DocumentMetadata(topic="safety", title="Handbook", language="en"),
                now=NOW,
            )
            versions.store_content(session, document, added.version, parsed, title="Handbook", language="en")
            for state in (DocumentState.PARSED, DocumentState.APPROVED):
                versions.change_state(session, document, added.version, state, NOW)
            return added

        version = await self.database.write(add)
        searched = self.kit.generations.searched.fingerprint or WORDS
        model = next(name for name, values in MODELS.items() if values[0] == searched)
        inference = self.inference.inference(model)
        chunks = await chunk_version(inference, version, parsed, LIMITS, late=False)
        embedded = await inference.embed([child.embedding_text for child in chunks.children])
        await self.staging.stage(
            StagedDocument(
                document_id=document,
                version=version.version,
                metadata=version.metadata,
                fingerprint=embedded.fingerprint,
                parents=chunks.passages,
                children=[
                    StagedChild(c.citation_id, c.ordinal, c.start, c.end, c.section_path, vector)
                    for c, vector in zip(chunks.children, embedded.vectors, strict=True)
                ],
            )
        )
        await self.staging.activate(document, version.version)

        def done(session: Any) -> None:
            passages.replace_passages(session, document, version.version, chunks.passages)
            activate_version(session, document, version.version, NOW)

        await self.database.write(done)
        return {passage.citation_id for passage in chunks.passages}

    async def found(self) -> set[str]:
        """Citation ids that a question finds; every one of a small base."""
        retrieval = await self.kit.retriever.retrieve(Query("word"))
        assert all(report.ok for report in retrieval.legs)
        return {one.parent.key.citation_id for one in retrieval.parents}


@asynccontextmanager
async def knowledge_base(database: Database, root: Path) -> AsyncIterator[KnowledgeBase]:
    async with AsyncExitStack() as stack:

        async def serve(add: Any, servicer: object) -> grpc.aio.Channel:
            around = interceptors(
                Admission(16, 16),
                require_deadline=True,
                long_lived=frozenset(),
                draining=asyncio.Event(),
            )
            server = grpc.aio.server(interceptors=around)
            add(servicer, server)
            port = server.add_insecure_port("127.0.0.1:0")
            await server.start()
            stack.push_async_callback(server.stop, None)
            channel = open_channel(f"127.0.0.1:{port}")
            return await stack.enter_async_context(channel)

        models = TwoModels()
        inference = await serve(inference_pb2_grpc.add_InferenceServiceServicer_to_server, models)
        kit = await open_kit(root / "index", embed=InferenceClient(inference, timeout=20).embed_query)
        stack.push_async_callback(kit.close)
        index = await serve(index_pb2_grpc.add_IndexServiceServicer_to_server, IndexServicer(kit.generations))
        yield KnowledgeBase(
            database,
            models,
            EmbeddingModels(inference, TIMEOUTS),
            GenerationIndexClient(index, TIMEOUTS),
            IndexClient(index, TIMEOUTS),
            kit,
            index,
        )
