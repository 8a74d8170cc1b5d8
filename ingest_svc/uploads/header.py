"""What an upload announces before its bytes, and which announcements are refused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from ingest_svc.metadata import DocumentMetadata, check_document_id, check_metadata
from radref.errors import InvalidInput

MAX_FILE_NAME = 255
# A message of an upload holds at most this many bytes.
MAX_CHUNK_BYTES = 1_048_576


@dataclass(frozen=True, slots=True)
class UploadHeader:
    """Mirrors radref.api.ingest.v1.UploadHeader."""

    document_id: str
    file_name: str
    metadata: DocumentMetadata
    size_bytes: int


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """What the site accepts. `max_bytes`: size of a file; `topics`: ids of its collections."""

    max_bytes: int
    topics: Collection[str]


def check_file(header: UploadHeader, limits: UploadLimits) -> UploadHeader:
    """The header with surrounding white space taken off its file name, if name and size are acceptable.

    Raises:
        InvalidInput: EMPTY_TEXT, TEXT_TOO_LONG, INVALID_FIELD (file name), EMPTY_FILE or FILE_TOO_LARGE.
    """
    name = header.file_name.strip()
    if not name:
        raise InvalidInput("The file name is missing.", reason="EMPTY_TEXT", field="header.file_name")
    if len(name) > MAX_FILE_NAME:
        raise InvalidInput(
            f"The file name is longer than {MAX_FILE_NAME} characters.",
            reason="TEXT_TOO_LONG",
            field="header.file_name",
            metadata={"limit": str(MAX_FILE_NAME)},
        )
    if any(ord(letter) < 32 for letter in name):
        raise InvalidInput("The file name holds control characters.", field="header.file_name")
    check_size(header.size_bytes, limits)
    return replace(header, file_name=name)


def check_size(size_bytes: int, limits: UploadLimits) -> None:
    """Refuses an empty or too big file.

    Raises:
        InvalidInput: EMPTY_FILE or FILE_TOO_LARGE.
    """
    if size_bytes == 0:
        raise InvalidInput("The file is empty.", reason="EMPTY_FILE", field="header.size_bytes")
    if size_bytes > limits.max_bytes:
        raise InvalidInput(
            f"The file has {size_bytes} bytes; at most {limits.max_bytes} are accepted.",
            reason="FILE_TOO_LARGE",
            field="header.size_bytes",
            metadata={"limit": str(limits.max_bytes)},
        )


def check_submission(header: UploadHeader, limits: UploadLimits) -> UploadHeader:
    """`check_file`, and the document id and metadata that a document to be kept needs.

    Raises:
        InvalidInput: as `check_file`, `check_document_id` and `check_metadata`.
    """
    header = check_file(header, limits)
    if header.document_id:
        check_document_id(header.document_id)
    check_metadata(header.metadata, limits.topics)
    return header


def check_replacement(header: UploadHeader, limits: UploadLimits) -> UploadHeader:
    """`check_file`, and the document id; the metadata is checked once it is completed.

    Raises:
        InvalidInput: EMPTY_TEXT (no document id), or as `check_file` and `check_document_id`.
    """
    header = check_file(header, limits)
    if not header.document_id:
        raise InvalidInput(
            "Name the document that gets a new version; SubmitDocument takes in new documents.",
            reason="EMPTY_TEXT",
            field="header.document_id",
        )
    check_document_id(header.document_id)
    return header
