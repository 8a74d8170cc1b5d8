"""What synthetic documents are made from: an index of real ones, and real questions."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.index_points import points_of
from evaluation.questions import load_questions
from inference_svc.embedders.lanes import EncoderLanes
from inference_svc.embedders.onnx_e5.embedder import OnnxE5Embedder
from retrieval_svc.bm25 import Bm25Encoder
from retrieval_svc.store.edge.directory import IndexFolder
from retrieval_svc.terms import decode_ids

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SeedChild:
    """A child of the corpus.

    Attributes:
        vector: L2 norm 1, shape (dimension,).
        weights: BM25 weights, one a distinct term.
    """

    start: int
    end: int
    section_path: tuple[str, ...]
    vector: Vector
    weights: Vector


@dataclass(frozen=True, slots=True)
class SeedParent:
    """A parent of the corpus; `terms` = distinct BM25 terms of its text."""

    text: str
    section_path: tuple[str, ...]
    terms: int
    children: tuple[SeedChild, ...]


@dataclass(frozen=True, slots=True)
class SeedDocument:
    """A document of the corpus."""

    topic: str
    language: str
    source_category: str
    year: int
    parents: tuple[SeedParent, ...]

    @property
    def children(self) -> int:
        return sum(len(parent.children) for parent in self.parents)


@dataclass(frozen=True, slots=True)
class SeedQuestion:
    """A real question: its vector (L2 norm 1) and how many distinct terms it has."""

    vector: Vector
    terms: int


@dataclass(frozen=True, slots=True)
class Seeds:
    """Everything that is taken from the real corpus.

    Attributes:
        frequencies: of each BM25 term, the children that hold it.
        neighbours: mean cosine of children that follow each other in a parent.
    """

    documents: tuple[SeedDocument, ...]
    questions: tuple[SeedQuestion, ...]
    frequencies: tuple[int, ...]
    neighbours: float

    @property
    def children(self) -> int:
        return sum(document.children for document in self.documents)

    @property
    def dimension(self) -> int:
        return len(self.questions[0].vector)


def read_seeds(data_dir: Path, question_sets: Sequence[Path], *, cache_dir: Path, work: Path) -> Seeds:
    """Reads the index of a stopped or running radref and embeds real questions with the default model.

    Args:
        data_dir: of `radref up`; only read, its index is copied to `work` first.
        question_sets: JSON lines as in docs/evaluation.md.
        cache_dir: of the embedder's converted weights.
        work: a folder for the copy, which is deleted again.

    Raises:
        PreconditionFailed: the index has another format (INVALID_STATE).
        InvalidInput: a question set cannot be read.
        SystemExit: the index is empty, or built with another model.
    """
    copy = work / "source-index"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(data_dir / "index", copy)
    try:
        folder = IndexFolder(copy)
        identity = folder.read()
        if identity is None or not folder.collections():
            raise SystemExit(f"{data_dir}: the index is empty, ingest documents first")
        documents, frequencies = read_documents(folder)
    finally:
        shutil.rmtree(copy)
    texts = [question.query for path in question_sets for question in load_questions(path)]
    questions, fingerprint = asyncio.run(_embed(texts, cache_dir))
    if fingerprint != identity.embedder_fingerprint:
        raise SystemExit(f"{data_dir}: the index was built with another embedding model")
    return Seeds(documents, questions, frequencies, neighbour_cosine(documents))


def read_documents(folder: IndexFolder) -> tuple[tuple[SeedDocument, ...], tuple[int, ...]]:
    """(Documents, children that hold each BM25 term) of an index that no process has open."""
    children: defaultdict[tuple[str, str], list[tuple[int, SeedChild]]] = defaultdict(list)
    frequencies: Counter[int] = Counter()
    topics: dict[str, tuple[str, dict[str, Any]]] = {}
    for topic in sorted(folder.collections()):
        for record in points_of(folder.collection(topic), with_vector=True):
            payload, sparse = record.payload, record.vector.get("bm25")
            frequencies.update(sparse.indices if sparse else ())
            topics[payload["stage"]] = topic, payload
            child = SeedChild(
                start=payload["start"],
                end=payload["end"],
                section_path=tuple(payload["section_path"]),
                vector=np.asarray(record.vector["dense"], dtype=np.float32),
                weights=np.asarray(sparse.values if sparse else (), dtype=np.float32),
            )
            children[payload["stage"], payload["citation_id"]].append((payload["ordinal"], child))
    parents: defaultdict[str, list[tuple[int, SeedParent]]] = defaultdict(list)
    for record in points_of(folder.parents, with_vector=False):
        payload = record.payload
        found = sorted(children[payload["stage"], payload["citation_id"]], key=lambda pair: pair[0])
        parent = SeedParent(
            text=payload["text"],
            section_path=tuple(payload["section_path"]),
            terms=len(decode_ids(payload["terms"])),
            children=tuple(child for _, child in found),
        )
        parents[payload["stage"]].append((payload["ordinal"], parent))
    documents = [
        SeedDocument(
            topic=topic,
            language=max(payload["language"], key=len),
            source_category=payload["source_category"],
            year=payload["year"],
            parents=tuple(parent for _, parent in sorted(parents[stage], key=lambda pair: pair[0])),
        )
        for stage, (topic, payload) in sorted(topics.items())
    ]
    return tuple(documents), tuple(frequencies.values())


def neighbour_cosine(documents: Sequence[SeedDocument]) -> float:
    """Mean cosine of children that follow each other in a parent."""
    cosines = [
        float(one.vector @ two.vector)
        for document in documents
        for parent in document.parents
        for one, two in zip(parent.children, parent.children[1:], strict=False)
    ]
    return float(np.mean(cosines))


async def _embed(texts: Sequence[str], cache_dir: Path) -> tuple[tuple[SeedQuestion, ...], str]:
    """(Questions, fingerprint of the model)."""
    lanes = EncoderLanes(question_tokens=10**6, document_tokens=10**6, observe_wait=lambda _: None)
    embedder = await asyncio.to_thread(
        lambda: OnnxE5Embedder.load(cache_dir, None, threads=2, spinning=False, batch_tokens=256, lanes=lanes)
    )
    # Only the number of distinct terms counts here, which no parameter changes.
    encoder = Bm25Encoder(k=1.2, b=0.75, avg_len=100)
    questions = []
    try:
        for text in texts:
            (vector,) = (await embedder.embed_queries([text])).vectors
            terms = len(encoder.query(text).indices)
            if terms:
                questions.append(SeedQuestion(np.asarray(vector, dtype=np.float32), terms))
        return tuple(questions), embedder.description.fingerprint
    finally:
        await embedder.close()
