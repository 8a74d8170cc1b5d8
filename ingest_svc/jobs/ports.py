"""What a job needs of its neighbours, in the words of this service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ingest_svc.document import ParsedDocument
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.registry.records import Passage
from ingest_svc.registry.vectors import Vector


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of a text.

    Attributes:
        offsets: (start, end) of every token in code points, in order.
        overhead: tokens that prefix and special tokens add to every embedded text, >= 0.
    """

    offsets: Sequence[tuple[int, int]]
    overhead: int


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A loaded embedding model.

    Attributes:
        tokenizer: models with the same value count tokens alike.
        overhead: tokens that prefix and special tokens add to every document, >= 0.
    """

    id: str
    fingerprint: str
    tokenizer: str
    overhead: int


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of L2 norm 1, one a text in the order asked, and the fingerprint of their model."""

    fingerprint: str
    vectors: Sequence[Vector]


@dataclass(frozen=True, slots=True)
class EmbeddedSpans:
    """Vectors of L2 norm 1, one a span of each text in the order asked, and their model's fingerprint."""

    fingerprint: str
    vectors: Sequence[Sequence[Vector]]


@dataclass(frozen=True, slots=True)
class StagedChild:
    """A child ready for the index; `start` and `end` are code points of its parent's text."""

    citation_id: str
    ordinal: int
    start: int
    end: int
    section_path: tuple[str, ...]
    vector: Vector


@dataclass(frozen=True, slots=True)
class StagedDocument:
    """A version ready for the index: >= 1 parent, >= 1 child, all vectors of the model `fingerprint`."""

    document_id: str
    version: int
    metadata: DocumentMetadata
    fingerprint: str
    parents: Sequence[Passage]
    children: Sequence[StagedChild]


# Takes out of a parsed document what carries no knowledge. Pure, may be slow.
Cleaner = Callable[[ParsedDocument], ParsedDocument]


class Parser(Protocol):
    """Reads files in processes of its own."""

    async def parse(self, data: bytes, file_name: str, /) -> ParsedDocument:
        """The document, before cleaning. Raises RadrefError with the reason why it cannot be read."""
        ...


class Inference(Protocol):
    """The embedding model. Every method raises RadrefError; Unavailable while it does not answer."""

    async def fingerprint(self) -> str:
        """Fingerprint of the model that `embed` uses now."""
        ...

    async def tokenize(self, text: str) -> Tokens:
        """Tokens of a text of any length >= 1."""
        ...

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Vectors of 1-256 document texts."""
        ...

    async def embed_spans(self, texts: Sequence[tuple[str, Sequence[tuple[int, int]]]]) -> EmbeddedSpans:
        """Late chunking: vectors of spans of 1-64 texts; spans are [start, end) in code points, ascending."""
        ...


class Index(Protocol):
    """The searchable index. Every method can be repeated; raises as `Inference`."""

    async def stage(self, document: StagedDocument) -> None:
        """Stores a version without making it searchable; staging again replaces."""
        ...

    async def activate(self, document_id: str, version: int) -> int:
        """Makes a staged version the searched one. Returns the one before, 0 = none."""
        ...

    async def withdraw(self, document_id: str) -> int:
        """Takes a document out of search. Returns the version searched before, 0 = none."""
        ...


class FunctionalCheck(Protocol):
    """The site's own questions, asked of a staged version before it is switched on."""

    async def run(self, document_id: str, version: int) -> None:
        """Raises PreconditionFailed FUNCTIONAL_CHECK_FAILED naming what is not found, or as `Inference`."""
        ...


class Progress(Protocol):
    """Tells how far long work has come. Raises JobEnded when the work is no longer wanted here."""

    async def __call__(self, done: int, total: int, /) -> None: ...


# Builds the whole index anew. Called again after a failure or a crash, so it goes on from what it finds.
# Raises RadrefError with the reason why it could not.
Reembedding = Callable[[Progress], Awaitable[None]]
