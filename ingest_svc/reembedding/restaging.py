"""Brings a searched version into an index again, from what the registry keeps: nothing is parsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from ingest_svc.chunking.model import ChunkLimits
from ingest_svc.jobs.embed_step import embed_chunks
from ingest_svc.jobs.ports import EmbeddingModel, StagedChild, StagedDocument
from ingest_svc.reembedding.ports import GenerationIndex, Models
from ingest_svc.reembedding.recut import recut
from ingest_svc.registry import passages, vectors, versions
from ingest_svc.registry.database import Database
from ingest_svc.registry.models import PassageRow
from ingest_svc.registry.records import ParsedContent, Version
from ingest_svc.registry.vectors import Vector
from radref.errors import NotFound, PreconditionFailed, Unavailable


class Restaging:
    """Cuts, embeds what is not kept, and stages.

    Args:
        limits, late_chunking, embed_batch: as the indexing jobs have them.
    """

    def __init__(
        self,
        *,
        database: Database,
        models: Models,
        index: GenerationIndex,
        limits: ChunkLimits,
        embed_batch: int,
        late_chunking: bool,
    ) -> None:
        self._database = database
        self._models = models
        self._index = index
        self._limits = limits
        self._embed_batch = embed_batch
        self._late = late_chunking

    async def restage(self, document_id: str, version: int) -> None:
        """Stages a version in the searched index; raises as `stage`."""
        searched, _ = await self._index.fingerprints()
        models = self._models
        target = await (models.with_fingerprint(searched) if searched else models.named(""))
        parents, children = await self.stage(document_id, version, target, await models.loaded())
        await self._database.write(
            lambda session: versions.set_counts(session, document_id, version, parents, children)
        )

    async def stage(
        self, document_id: str, version: int, target: EmbeddingModel, cutters: Sequence[EmbeddingModel]
    ) -> tuple[int, int]:
        """Stages a version in the index of the model `target`. Returns its parents and children.

        Args:
            cutters: models whose tokenizers may have cut the parents, the likeliest first.

        Raises:
            PreconditionFailed: INVALID_STATE, the registry does not have the version's text.
            Unavailable: NOT_READY, the model was exchanged meanwhile; or a neighbour does not answer.
            RadrefError: what the neighbours said.
        """
        try:
            record, content, known = await self._database.read(
                lambda session: _kept(session, document_id, version)
            )
        except NotFound:
            content = None
        if content is None:
            raise PreconditionFailed(
                f"Document {document_id}, version {version} is searched, but the registry does not have its "
                "text: withdraw it or let the index be repaired, then try again."
            )
        chunks = await recut(
            record,
            content,
            self._limits,
            target=target,
            cutters=cutters,
            inference=self._models.inference,
            known=known,
            late=self._late,
        )
        if any(passage.citation_id not in known for passage in chunks.passages):
            await self._database.write(
                lambda session: passages.replace_passages(session, document_id, version, chunks.passages)
            )
        keeping = _Keeping(self._database, document_id)
        fingerprint, found = await embed_chunks(
            self._models.inference(target.id),
            keeping,
            chunks,
            self._embed_batch,
            late=self._late,
        )
        if fingerprint != target.fingerprint:
            raise Unavailable("The embedding model was exchanged during the work.", reason="NOT_READY")
        await self._index.stage(
            StagedDocument(
                document_id=document_id,
                version=version,
                metadata=record.metadata,
                fingerprint=fingerprint,
                parents=chunks.passages,
                children=[
                    StagedChild(
                        citation_id=child.citation_id,
                        ordinal=child.ordinal,
                        start=child.start,
                        end=child.end,
                        section_path=child.section_path,
                        vector=found[child.key],
                    )
                    for child in chunks.children
                ],
            )
        )
        return len(chunks.passages), len(chunks.children)


class _Keeping:
    """Keeps the vectors of one document in the registry."""

    def __init__(self, database: Database, document_id: str) -> None:
        self._database = database
        self._document_id = document_id

    async def vectors(self, fingerprint: str) -> dict[str, Vector]:
        """What was kept of this model, by `text_key`."""
        return await self._database.read(
            lambda session: vectors.load_vectors(session, self._document_id, fingerprint)
        )

    async def embedded(self, fingerprint: str, made: Mapping[str, Vector], parents_done: int) -> None:
        """Keeps new vectors."""
        if made:
            await self._database.write(
                lambda session: vectors.store_vectors(session, self._document_id, fingerprint, made)
            )


def _kept(
    session: Session, document_id: str, version: int
) -> tuple[Version, ParsedContent | None, frozenset[str]]:
    known = session.scalars(
        select(PassageRow.citation_id).where(
            PassageRow.document_id == document_id, PassageRow.version == version
        )
    )
    return (
        versions.get_version(session, document_id, version),
        versions.load_content(session, document_id, version),
        frozenset(known),
    )
