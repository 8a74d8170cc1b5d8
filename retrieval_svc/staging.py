"""Checks what a client wants to stage: header, order, counts, spans, vectors. No I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from radref.errors import InvalidInput
from retrieval_svc.duplicates import text_key
from retrieval_svc.model import Metadata

MAX_BATCH = 256
MAX_DOCUMENT_ID = 128
MAX_VERSION = 2**31 - 1
# Float32 rounding of a 1536-dimensional unit vector stays below 1e-5; more means it was not normalised.
NORM_TOLERANCE = 1e-3

_CITATION_ID = re.compile(r"[0-9a-f]{20}")


@dataclass(frozen=True, slots=True)
class StageHeader:
    """As radref.api.retrieval.v1.StageHeader."""

    document_id: str
    version: int
    metadata: Metadata
    embedder_fingerprint: str
    parents: int
    children: int


@dataclass(frozen=True, slots=True)
class NewParent:
    """As radref.api.retrieval.v1.StagedParent; pages (first, last) or None."""

    citation_id: str
    ordinal: int
    text: str
    section_path: tuple[str, ...]
    pages: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class NewChild:
    """As radref.api.retrieval.v1.StagedChild: [start, end) in code points of the parent's text."""

    citation_id: str
    ordinal: int
    start: int
    end: int
    section_path: tuple[str, ...]
    vector: Sequence[float]


@dataclass(frozen=True, slots=True)
class Batch:
    """Parents and children; every parent in this or an earlier batch than its children."""

    parents: Sequence[NewParent]
    children: Sequence[NewChild]


@dataclass(slots=True)
class StageChecker:
    """Follows one stream. Every method raises InvalidInput and names the field.

    Attributes:
        texts: text of every parent accepted so far, by citation id.
        keys: its `text_key`, by citation id.
        dimension: length of the vectors; 0 = taken from the first child.
    """

    header: StageHeader
    dimension: int = 0
    texts: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    _ordinals: set[int] = field(default_factory=set)
    _children: set[tuple[str, int]] = field(default_factory=set)

    @property
    def children(self) -> int:
        """Children accepted so far."""
        return len(self._children)

    def accept(self, batch: Batch) -> None:
        """Checks a batch and counts it in."""
        for name, count in (("parents", len(batch.parents)), ("children", len(batch.children))):
            if count > MAX_BATCH:
                raise InvalidInput(
                    f"a batch holds at most {MAX_BATCH} {name}, this one {count}",
                    reason="OUT_OF_RANGE",
                    field=f"batch.{name}",
                )
        for parent in batch.parents:
            self._accept_parent(parent)
        for child in batch.children:
            self._accept_child(child)
        if batch.children:
            self._check_vectors(batch.children)
        if len(self.texts) > self.header.parents or self.children > self.header.children:
            raise _out_of_order("more parents or children came than the header announced")

    def finish(self) -> None:
        """Checks that everything announced has come."""
        if (len(self.texts), self.children) != (self.header.parents, self.header.children):
            raise _out_of_order(
                f"the header announced {self.header.parents} parents and {self.header.children} children, "
                f"{len(self.texts)} and {self.children} came"
            )

    def _accept_parent(self, parent: NewParent) -> None:
        if not _CITATION_ID.fullmatch(parent.citation_id):
            raise InvalidInput(
                "a citation id is 20 hexadecimal digits in lower case", field="batch.parents.citation_id"
            )
        if parent.citation_id in self.texts or parent.ordinal in self._ordinals:
            raise InvalidInput(
                "two parents have the same citation id or ordinal", field="batch.parents.citation_id"
            )
        if not parent.text.strip():
            raise InvalidInput("a parent has no text", reason="EMPTY_TEXT", field="batch.parents.text")
        if parent.pages and not 1 <= parent.pages[0] <= parent.pages[1]:
            raise InvalidInput(
                "a page range must be 1 <= first <= last", reason="OUT_OF_RANGE", field="batch.parents.pages"
            )
        self.texts[parent.citation_id] = parent.text
        self.keys[parent.citation_id] = text_key(parent.text)
        self._ordinals.add(parent.ordinal)

    def _accept_child(self, child: NewChild) -> None:
        text = self.texts.get(child.citation_id)
        if text is None:
            raise _out_of_order("a child came before its parent")
        if (child.citation_id, child.ordinal) in self._children:
            raise InvalidInput(
                "two children of one parent have the same ordinal", field="batch.children.ordinal"
            )
        if not 0 <= child.start < child.end <= len(text):
            raise InvalidInput(
                "a child's span is empty or lies outside its parent's text",
                reason="INVALID_SPAN",
                field="batch.children.span",
                metadata={"start": str(child.start), "end": str(child.end), "length": str(len(text))},
            )
        self._children.add((child.citation_id, child.ordinal))

    def _check_vectors(self, children: Sequence[NewChild]) -> None:
        self.dimension = self.dimension or len(children[0].vector)
        if not self.dimension or any(len(child.vector) != self.dimension for child in children):
            raise InvalidInput(
                f"every vector must have {self.dimension or 'at least 1'} components",
                field="batch.children.vector",
            )
        vectors: npt.NDArray[np.float32] = np.array([child.vector for child in children], dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise InvalidInput("a vector holds NaN or infinity", field="batch.children.vector")
        norms = np.linalg.norm(vectors, axis=1)
        if (np.abs(norms - 1.0) > NORM_TOLERANCE).any():
            raise InvalidInput("a vector's L2 norm is not 1", field="batch.children.vector")


def check_header(header: StageHeader, topics: Sequence[str]) -> None:
    """Checks the header by itself.

    Raises:
        InvalidInput: OUT_OF_RANGE, EMPTY_TEXT, UNKNOWN_TOPIC or INVALID_FIELD, with the field's path.
    """
    check_document_id(header.document_id, "header.document_id")
    check_version(header.version, "header.version")
    metadata = header.metadata
    for name, text, longest in (
        ("metadata.title", metadata.title, 500),
        ("metadata.language", metadata.language, 16),
        ("embedder_fingerprint", header.embedder_fingerprint, 128),
    ):
        if not text.strip():
            raise InvalidInput(f"{name} is missing", reason="EMPTY_TEXT", field=f"header.{name}")
        if len(text) > longest:
            raise InvalidInput(
                f"{name} is longer than {longest} characters", reason="TEXT_TOO_LONG", field=f"header.{name}"
            )
    if metadata.topic not in topics:
        raise unknown_topic(metadata.topic, topics, "header.metadata.topic")
    if metadata.year and not 1800 <= metadata.year <= 2200:
        raise InvalidInput("year must be 0 or 1800-2200", reason="OUT_OF_RANGE", field="header.metadata.year")
    for name, count in (("parent_count", header.parents), ("child_count", header.children)):
        if count < 1:
            raise InvalidInput(f"{name} must be at least 1", reason="OUT_OF_RANGE", field=f"header.{name}")


def check_document_id(document_id: str, path: str) -> None:
    """Raises InvalidInput unless the id has 1-128 characters."""
    if not document_id.strip():
        raise InvalidInput("a document id is needed", reason="EMPTY_TEXT", field=path)
    if len(document_id) > MAX_DOCUMENT_ID:
        raise InvalidInput(
            f"a document id has at most {MAX_DOCUMENT_ID} characters", reason="TEXT_TOO_LONG", field=path
        )


def check_version(version: int, path: str) -> None:
    """Raises InvalidInput unless the version is 1 or more."""
    if not 1 <= version <= MAX_VERSION:
        raise InvalidInput("versions are counted from 1", reason="OUT_OF_RANGE", field=path)


def unknown_topic(topic: str, topics: Sequence[str], path: str) -> InvalidInput:
    """The error for a topic that no collection has; names those that exist."""
    known = ", ".join(topics)
    return InvalidInput(
        f"there is no topic {topic[:64]!r}; the topics are {known}",
        reason="UNKNOWN_TOPIC",
        field=path,
        metadata={"topics": known},
    )


def _out_of_order(message: str) -> InvalidInput:
    return InvalidInput(message, reason="STREAM_PROTOCOL")
