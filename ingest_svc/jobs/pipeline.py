"""The steps of a job: parse, clean, review, chunk, embed, stage, check, activate, prune.

Each can be repeated, and keeps in the registry what it made before the next one starts. What a step hands on
in memory is made again where an earlier process took it along.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from ingest_svc.blobs.ports import Blobs
from ingest_svc.chunking.model import ChunkLimits
from ingest_svc.document import ParsedDocument, render
from ingest_svc.jobs.chunk_step import Chunks, chunk_version
from ingest_svc.jobs.document_locks import DocumentLocks
from ingest_svc.jobs.effective_metadata import effective_language, effective_title
from ingest_svc.jobs.embed_step import embed_chunks
from ingest_svc.jobs.journal import JobEnded, Journal
from ingest_svc.jobs.ports import (
    Cleaner,
    FunctionalCheck,
    Index,
    Inference,
    Parser,
    StagedChild,
    StagedDocument,
)
from ingest_svc.lifecycle import DocumentState, JobStage
from ingest_svc.near_duplicates import signature
from ingest_svc.registry.records import ParsedContent, Version
from ingest_svc.registry.vectors import Vector
from ingest_svc.variants.reading import read_variant
from radref.appropriateness.documents import is_variant_document
from radref.errors import Internal, InvalidInput, Unavailable

# What a step leaves in the record of its workflow: counts and ids, never text.
Note = Mapping[str, str | int]


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
    """What all attempts share."""

    def __init__(
        self,
        *,
        blobs: Blobs,
        parser: Parser,
        clean: Cleaner,
        inference: Inference,
        index: Index,
        locks: DocumentLocks,
        options: PipelineOptions,
        embedding_places: int,
        check: FunctionalCheck | None = None,
    ) -> None:
        """
        Args:
            embedding_places: documents embedded at once, >= 1.
            check: asked before a version is switched on; None = the site has no questions.
        """
        self.blobs = blobs
        self.parser = parser
        self.clean = clean
        self.inference = inference
        self.index = index
        self.locks = locks
        self.options = options
        self.check = check
        self.embedding_places = asyncio.Semaphore(embedding_places)


class Attempt:
    """One attempt of a job on one version.

    Every step raises RadrefError with the reason why it failed, or JobEnded when the job is no longer ours.
    """

    def __init__(self, pipeline: Pipeline, journal: Journal) -> None:
        self._pipeline = pipeline
        self._journal = journal
        self._known: Version | None = None
        self._parsed: ParsedDocument | None = None
        self._chunks: Chunks | None = None
        self._vectors: dict[str, Vector] = {}
        self._fingerprint = ""
        self._previous = 0

    async def parse(self) -> Note:
        """Reads the file, unless that was done in an earlier run."""
        if (await self._version()).state is not DocumentState.RECEIVED:
            return {}
        async with self._journal.stage(JobStage.PARSE):
            parsed = await self._read()
        return {"blocks": len(parsed.blocks)}

    async def clean(self) -> Note:
        """Takes out what carries no knowledge, and keeps the text: the version is PARSED."""
        journal = self._journal
        version = await self._version()
        if version.state is not DocumentState.RECEIVED:
            return {}
        parsed = await self._read()
        async with journal.stage(JobStage.CLEAN):
            # A variant is indexed and cited as it was reviewed, letter by letter.
            as_it_is = is_variant_document(version.document_id)
            cleaned = parsed if as_it_is else await asyncio.to_thread(self._pipeline.clean, parsed)
            if not any(block.text.strip() for block in cleaned.blocks):
                raise InvalidInput("The file holds no text that could be searched.", reason="NO_TEXT")
            content = ParsedContent(cleaned.blocks, cleaned.title, cleaned.report)
            twins = await journal.parsed(
                content,
                title=effective_title(version.metadata.title, content, version.file_name),
                language=effective_language(version.metadata.language, content),
                signature=await asyncio.to_thread(_signature, content),
            )
        self._parsed = self._known = None
        return {"blocks": len(content.blocks), "twins": len(twins)}

    async def review(self) -> bool:
        """Approves the version of a trusted source, else ends the job. Returns whether it goes on."""
        version = await self._version()
        if version.state is DocumentState.APPROVED:
            return True
        if version.state is not DocumentState.PARSED:
            raise Internal(f"A job found its version {version.state}.")
        of_the_site = version.trusted is None
        if not (self._pipeline.options.auto_approve if of_the_site else version.trusted):
            await self._journal.awaits_review()
            return False
        await self._journal.approved("trusted source (auto_approve)" if of_the_site else "trusted source")
        return True

    async def chunk(self) -> Note:
        """Cuts parents and children, and keeps the parents so that their citations resolve."""
        async with self._journal.stage(JobStage.CHUNK):
            chunks = await self._cut()
            await self._journal.chunked(chunks.passages, len(chunks.children), chunks.warnings)
        return {"parents": len(chunks.passages), "children": len(chunks.children)}

    async def embed(self) -> Note:
        """Makes the vectors that are missing, and keeps them."""
        chunks = await self._cut()
        options = self._pipeline.options
        async with (
            self._pipeline.embedding_places,
            self._journal.stage(JobStage.EMBED, total=len(chunks.passages)),
        ):
            self._fingerprint, self._vectors = await embed_chunks(
                self._pipeline.inference,
                self._journal,
                chunks,
                options.embed_batch,
                late=options.late_chunking,
            )
            await self._journal.all_embedded(len(chunks.children))
        return {"fingerprint": self._fingerprint, "children": len(chunks.children)}

    async def stage(self, fingerprint: str) -> Note:
        """Hands the version to the index, where nobody finds it yet.

        Args:
            fingerprint: as `embed` noted it.
        """
        version = await self._version()
        chunks = await self._cut()
        vectors = self._vectors
        if self._fingerprint != fingerprint:
            vectors = await self._journal.vectors(fingerprint)
        if any(child.key not in vectors for child in chunks.children):
            raise Unavailable(
                "Vectors of this document are missing; they are made again.", reason="NOT_READY"
            )
        async with self._journal.stage(JobStage.STAGE):
            await self._pipeline.index.stage(_staged(version, chunks, fingerprint, vectors))
        return {"parents": len(chunks.passages)}

    async def check(self) -> Note:
        """Asks the site's questions of the staged version."""
        if self._pipeline.check is None:
            return {}
        async with self._journal.stage(JobStage.CHECK):
            await self._pipeline.check.run(self._journal.job.document_id, self._journal.job.version)
        return {"checked": 1}

    async def activate(self) -> Note:
        """Switches the version on, in the index and then in the registry, which ends the job."""
        job = self._journal.job
        # A withdrawal waits for the switch or comes before it, never in between.
        async with self._pipeline.locks.of(job.document_id), self._journal.stage(JobStage.ACTIVATE):
            await self._pipeline.index.activate(job.document_id, job.version)
            try:
                self._previous = await self._journal.indexed()
            except JobEnded:
                await self._journal.index_to_check()
                raise
        return {"previous": self._previous}

    async def prune(self, previous: int) -> Note:
        """Forgets vectors that neither this version needs nor the one before it, to which one may go back.

        Args:
            previous: as `activate` noted it.
        """
        keep = {child.key for child in (await self._cut()).children}
        if previous:
            version, content = await asyncio.gather(
                self._journal.other_version(previous), self._journal.content(previous)
            )
            if content is not None:
                keep |= {child.key for child in (await self._chunks_of(version, content)).children}
        await self._journal.pruned(keep)
        return {"kept": len(keep)}

    async def _version(self) -> Version:
        if self._known is None:
            self._known = await self._journal.version()
        return self._known

    async def _read(self) -> ParsedDocument:
        if self._parsed is None:
            version = await self._version()
            data = await self._pipeline.blobs.read(version.sha256)
            if is_variant_document(version.document_id):
                self._parsed = await asyncio.to_thread(read_variant, data, version.metadata.language)
            else:
                self._parsed = await self._pipeline.parser.parse(data, version.file_name)
        return self._parsed

    async def _cut(self) -> Chunks:
        if self._chunks is None:
            version = await self._version()
            content = await self._journal.content()
            if content is None:
                raise Internal("The parsed text of an approved version is missing.")
            self._chunks = await self._chunks_of(version, content)
        return self._chunks

    async def _chunks_of(self, version: Version, content: ParsedContent) -> Chunks:
        options = self._pipeline.options
        return await chunk_version(
            self._pipeline.inference, version, content, options.limits, late=options.late_chunking
        )


def _signature(content: ParsedContent) -> bytes:
    return signature(render(content.blocks)[0])


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
