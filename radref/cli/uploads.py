"""A file to upload, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from radref.api.common.v1 import documents_pb2


class Verdict(StrEnum):
    """What became of a file."""

    INDEXED = "indexed"
    WAITING = "waits for review"
    SKIPPED = "skipped"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to upload and what is known of it. `id_from_path`: nobody chose its document id."""

    path: Path
    document_id: str
    metadata: documents_pb2.DocumentMetadata
    id_from_path: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one file; `reason` says why it is not indexed.

    Counts are >= 0; `embedded` + `reused` are the children whose vectors were made and were there already.
    """

    path: Path
    verdict: Verdict
    reason: str = ""
    document_id: str = ""
    parents: int = 0
    children: int = 0
    warnings: tuple[str, ...] = ()
    version: int = 0
    embedded: int = 0
    reused: int = 0
