"""One attempt of a job: parse, clean, chunk, embed, stage, activate; from where earlier attempts got to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from ingest_svc.blobs import BlobStore
from ingest_svc.chunking.model import ChunkLimits
from ingest_svc.jobs.chunk_step import Chunks, chunk_version
from ingest_svc.jobs.document_locks import DocumentLocks
from ingest_svc.jobs.effective_metadata import effective_language, effective_title
from ingest_svc.jobs.embed_step import embed_chunks
from ingest_svc.jobs.journal import Journal
from ingest_svc.jobs.ports import Cleaner, Index, Inference, Parser, StagedChild, StagedDocument
from ingest_svc.lifecycle import DocumentState, JobStage
from ingest_svc.registry.records import ParsedContent, Version
from ingest_svc.registry.vectors import Vector
from radref.errors import Internal, InvalidInput


@dataclass(frozen=True, slots=True)
class PipelineOptions:
    """How documents are processed.

    Attributes:
        auto_approve: index without a review.
        limits: sizes of parents and children.
        embed_batch: texts a call of the embedding model, 1-256.
        late_chunking: vectors of children from the token vectors of their whole parent.
    """

    auto_approve: bool
    limits: ChunkLimits
    embed_batch: int
    late_chunking: bool


class Pipeline:
    """Runs attempts. Every step can be repeated, and keeps what it made before the next one starts."""

    def __init__(
        self,
        *,
        blobs: BlobStore,
        parser: Parser,
        clean: Cleaner,
        inference: Inference,
        index: Index,
        locks: DocumentLocks,
        options: PipelineOptions,
        embedding_places: int,
    ) -> None:
        """
        Args:
            embedding_places: documents embedded at once, >= 1.
        """
        self._blobs = blobs
        self._parser = parser
        self._clean = clean
        self._inference = inference
        self._index = index
        self._locks = locks
        self._options = options
        self._embedding_places = asyncio.Semaphore(embedding_places)

    async def run(self, journal: Journal) -> None:
        """One attempt, to the end of the job or up to the review.

        Raises:
            RadrefError: why the attempt failed.
            JobEnded: the job was ended by somebody else.
        """
        version = await journal.version()
        if version.state is DocumentState.RECEIVED:
            await self._parse(journal, version)
            version = await journal.version()
        if version.state is DocumentState.PARSED:
            if not self._options.auto_approve:
                await journal.awaits_review()
                return
            await journal.approved("trusted source (auto_approve)")
            version = await journal.version()
        if version.state is not DocumentState.APPROVED:
            raise Internal(f"A job found its version {version.state}.")
        content = await journal.content()
        if content is None:
            raise Internal("The parsed text of an approved version is missing.")
        async with journal.stage(JobStage.CHUNK):
            chunks = await chunk_version(
                self._inference, version, content, self._options.limits, late=self._options.late_chunking
            )
            await journal.chunked(chunks.passages, len(chunks.children), chunks.warnings)
        async with self._embedding_places, journal.stage(JobStage.EMBED, total=len(chunks.passages)):
            fingerprint, vectors = await embed_chunks(
                self._inference,
                journal,
                chunks,
                self._options.embed_batch,
                late=self._options.late_chunking,
            )
        async with journal.stage(JobStage.STAGE):
            await self._index.stage(_staged(version, chunks, fingerprint, vectors))
        # A withdrawal waits for the switch or comes before it, never in between.
        async with self._locks.of(version.document_id), journal.stage(JobStage.ACTIVATE):
            await self._index.activate(version.document_id, version.version)
            await journal.indexed()

    async def _parse(self, journal: Journal, version: Version) -> None:
        async with journal.stage(JobStage.PARSE):
            data = await self._blobs.read(version.sha256)
            parsed = await self._parser.parse(data, version.file_name)
        async with journal.stage(JobStage.CLEAN):
            cleaned = await asyncio.to_thread(self._clean, parsed)
            if not any(block.text.strip() for block in cleaned.blocks):
                raise InvalidInput("The file holds no text that could be searched.", reason="NO_TEXT")
            content = ParsedContent(cleaned.blocks, cleaned.title, cleaned.report)
            await journal.parsed(
                content,
                title=effective_title(version.metadata.title, content, version.file_name),
                language=effective_language(version.metadata.language, content),
            )


def _staged(version: Version, chunks: Chunks, fingerprint: str, vectors: dict[str, Vector]) -> StagedDocument:
    return StagedDocument(
        document_id=version.document_id,
        version=version.version,
        metadata=version.metadata,
        fingerprint=fingerprint,
        parents=chunks.passages,
        children=[
            StagedChild(
                citation_id=child.citation_id,
                ordinal=child.ordinal,
                start=child.start,
                end=child.end,
                section_path=child.section_path,
                vector=vectors[child.key],
            )
            for child in chunks.children
        ],
    )
