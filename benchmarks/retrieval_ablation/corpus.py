"""The searched documents of an index, read from a copy of it: texts, vectors, metadata."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.index_points import points_of
from radref.errors import InvalidInput
from retrieval_svc.model import Metadata
from retrieval_svc.staging import NewChild, NewParent
from retrieval_svc.store.edge.directory import DataDirectory, IndexFolder
from retrieval_svc.store.edge.generations import EdgeGenerations


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was staged; parents by ordinal."""

    document_id: str
    metadata: Metadata
    parents: Sequence[NewParent]
    children: Sequence[NewChild]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents by id, and the fingerprint of the model that made the children's vectors."""

    documents: Sequence[Document]
    fingerprint: str

    @property
    def parents(self) -> list[NewParent]:
        """Of all documents."""
        return [parent for document in self.documents for parent in document.parents]


async def read_corpus(data_dir: Path, *, work: Path) -> Corpus:
    """Reads the searched versions of the index below a data directory of `radref up`.

    Args:
        data_dir: only read; a running radref may own it, but should not be indexing.
        work: a folder for the copy, which is deleted again.

    Raises:
        InvalidInput: there is no index, or it is empty.
        PreconditionFailed: it has another format (INVALID_STATE).
    """
    if not (data_dir / "index" / "index.json").exists():
        raise InvalidInput(f"{data_dir}: no index there, ingest documents first", field="data_dir")
    copy = work / "source-index"
    shutil.copytree(data_dir / "index", copy)
    try:
        directory = DataDirectory(copy)
        folder = directory.folder(directory.read().searched)
        directory.release()
        active, fingerprint = await _searched(copy, sorted(folder.collections()))
        documents = _documents(folder, active)
    finally:
        shutil.rmtree(copy)
    if not documents:
        raise InvalidInput(f"{data_dir}: the index is empty, ingest documents first", field="data_dir")
    return Corpus(documents, fingerprint)


async def _searched(root: Path, topics: Sequence[str]) -> tuple[dict[str, tuple[str, Metadata]], str]:
    """(Document id and metadata by staging, of those that are searched; the embedder's fingerprint)."""
    generations = EdgeGenerations(root, topics=topics, compact_after_changes=10**7)
    try:
        store = await generations.open((await generations.state()).searched)
        try:
            stages, documents = await store.catalogue()
            identity = store.identity
        finally:
            await store.close()
    finally:
        await generations.close()
    current = {record.stage for record in documents if record.stage}
    active = {one.stage: (one.document_id, one.metadata) for one in stages if one.stage in current}
    return active, identity.embedder_fingerprint if identity else ""


def _documents(folder: IndexFolder, active: dict[str, tuple[str, Metadata]]) -> list[Document]:
    parents: defaultdict[str, list[NewParent]] = defaultdict(list)
    for record in points_of(folder.parents, with_vector=False):
        payload = record.payload
        parents[payload["stage"]].append(
            NewParent(
                citation_id=payload["citation_id"],
                ordinal=payload["ordinal"],
                text=payload["text"],
                section_path=tuple(payload["section_path"]),
                pages=None,
            )
        )
    children: defaultdict[str, list[NewChild]] = defaultdict(list)
    for topic in sorted(folder.collections()):
        for record in points_of(folder.collection(topic), with_vector=True):
            payload = record.payload
            children[payload["stage"]].append(
                NewChild(
                    citation_id=payload["citation_id"],
                    ordinal=payload["ordinal"],
                    start=payload["start"],
                    end=payload["end"],
                    section_path=tuple(payload["section_path"]),
                    vector=record.vector["dense"],
                )
            )
    found = [
        Document(
            document_id=document_id,
            metadata=metadata,
            parents=sorted(parents[stage], key=lambda parent: parent.ordinal),
            children=sorted(children[stage], key=lambda child: (child.citation_id, child.ordinal)),
        )
        for stage, (document_id, metadata) in active.items()
    ]
    return sorted(found, key=lambda document: document.document_id)
