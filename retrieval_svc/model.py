"""What the retrieval service talks about: children, parents, versions, filters. No I/O, no protobuf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from retrieval_svc.bm25 import SparseVector

TermIds = npt.NDArray[np.uint32]


class Leg(StrEnum):
    """A way of searching."""

    DENSE = "dense"
    BM25 = "bm25"


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a curator says about a document; fields as in radref.api.common.v1.DocumentMetadata."""

    title: str
    topic: str
    language: str
    source_category: str = ""
    source: str = ""
    licence: str = ""
    year: int = 0
    authority: str = ""
    effective_from: datetime | None = None
    effective_until: datetime | None = None
    supersedes: tuple[str, ...] = ()


class ParentKey(NamedTuple):
    """Names one stored parent. `stage` tells apart stagings of the same version, see `StageRecord`.

    A tuple, because a question hashes thousands of them.
    """

    stage: str
    citation_id: str


@dataclass(frozen=True, slots=True)
class Parent:
    """A stored parent.

    Attributes:
        ordinal: position in the document, from 0.
        text: Markdown.
        pages: (first, last) from 1, or None where the format has none.
        terms: sorted distinct BM25 term ids of the text, for term coverage.
    """

    key: ParentKey
    ordinal: int
    text: str
    section_path: tuple[str, ...]
    pages: tuple[int, int] | None
    terms: TermIds = field(compare=False)


@dataclass(frozen=True, slots=True)
class IndexedParent:
    """A parent to store, with what it is found by.

    Attributes:
        parent_text: key of its text, see `retrieval_svc.duplicates`.
        sparse: BM25 weights of its text, title and heading path.
    """

    parent: Parent
    parent_text: str
    sparse: SparseVector


@dataclass(frozen=True, slots=True)
class ParentPlace:
    """Identity of a parent without its text; `parent_text` as in `IndexedParent`."""

    key: ParentKey
    document_id: str
    topic: str
    parent_text: str


@dataclass(frozen=True, slots=True)
class Child:
    """Identity and place of a child: [start, end) in code points of its parent's text.

    Attributes:
        parent_text: key of the parent's text, see `retrieval_svc.duplicates`.
    """

    parent: ParentKey
    document_id: str
    ordinal: int
    start: int
    end: int
    section_path: tuple[str, ...]
    parent_text: str


@dataclass(frozen=True, slots=True)
class IndexedChild:
    """A child to store, with its vectors: `dense` of the index's dimension and L2 norm 1."""

    child: Child
    dense: Sequence[float]
    sparse: SparseVector


@dataclass(frozen=True, slots=True)
class Hit:
    """A child that a leg found: cosine -1 to 1, or BM25 >= 0."""

    child: Child
    score: float


@dataclass(frozen=True, slots=True)
class ParentHit:
    """A parent that BM25 found: score >= 0."""

    place: ParentPlace
    score: float


@dataclass(frozen=True, slots=True)
class StageRecord:
    """One complete staging of one version.

    Its points carry `stage`, so that staging a version again, even the one being searched, stays invisible
    until it is activated.

    Attributes:
        stage: id of this staging, 32 hexadecimal digits.
        version: from 1.
        sequence: counts completed stagings and switches together, so it tells which came first; from 1.
    """

    stage: str
    document_id: str
    version: int
    metadata: Metadata
    parents: int
    children: int
    sequence: int


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """The one record that says what of a document is searched.

    Attributes:
        stage: the staging that is searched; empty = withdrawn.
        sequence: as in `StageRecord`; the highest one of all documents is the index version.
        changed_at: UTC.
    """

    document_id: str
    stage: str
    sequence: int
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class IndexIdentity:
    """What all vectors of an index have in common.

    Attributes:
        embedder_fingerprint: model that made the dense vectors.
        dimension: their length, >= 1.
        sparse_fingerprint: analysis and parameters of the BM25 weights.
    """

    embedder_fingerprint: str
    dimension: int
    sparse_fingerprint: str


@dataclass(frozen=True, slots=True)
class Filters:
    """Narrows a search inside collections; empty = all, years 0 = no bound, both ends included."""

    languages: tuple[str, ...] = ()
    source_categories: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()
    year_from: int = 0
    year_to: int = 0
