"""What is watched, and what a look at it finds. Plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ingest_svc.metadata import DocumentMetadata


@dataclass(frozen=True, slots=True)
class Source:
    """A place that documents come from: a folder, addresses, or both.

    Attributes:
        name: for people and the audit trail, 1-64 characters.
        folder: every file below it is a document; None = none.
        urls: each is one document.
        metadata: of every document from here.
        trusted: new versions go live without review.
    """

    name: str
    folder: Path | None
    urls: Sequence[str]
    metadata: DocumentMetadata
    trusted: bool


@dataclass(frozen=True, slots=True)
class Validators:
    """What tells an unchanged content without reading it: ETag and Last-Modified (RFC 9110, section 8.8).

    For a file in a folder `last_modified` holds modification time and size. "" = none.
    """

    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes at a location, their validators, and a file name for them."""

    data: bytes
    file_name: str
    validators: Validators


class Unchanged:
    """The location says that nothing changed since the validators shown to it."""


class Gone:
    """The location exists no longer (404, 410, or no such file)."""


Look = Content | Unchanged | Gone


class LookFailed(Exception):
    """A look that told nothing; `str()` says why, for people."""
