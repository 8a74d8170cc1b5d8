"""Result files: what was measured, on what, when."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluation.ingest_corpus import UploadResult
from radref.api.gateway.v1 import answer_pb2
from radref.errors import InvalidInput

_DIGITS = 4


def result_meta(
    *,
    versions: answer_pb2.Versions,
    settings: Mapping[str, Any],
    uploads: Sequence[UploadResult] | None,
    errors: Mapping[str, int],
) -> dict[str, Any]:
    """The `meta` object of a result file.

    Args:
        versions: as the last response named them.
        settings: options of the run.
        uploads: what became of the corpus; None when nothing was uploaded.
        errors: failed calls by reason; they are in no figure.
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {field.name: getattr(versions, field.name) for field in versions.DESCRIPTOR.fields},
        "settings": dict(settings),
        "corpus": None if uploads is None else _corpus(uploads),
        "errors": dict(errors),
    }


def _corpus(uploads: Sequence[UploadResult]) -> dict[str, Any]:
    counts = dict.fromkeys(("indexed", "duplicate", "refused"), 0)
    for upload in uploads:
        counts[upload.status] += 1
    refused = {upload.document_id: upload.reason for upload in uploads if upload.status == "refused"}
    return {"documents": len(uploads), **counts, "refusals": refused}


def file_fingerprint(path: Path) -> dict[str, str]:
    """Name and SHA-256 of an input file, so that two results can be compared years later."""
    return {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def rounded(value: Any) -> Any:
    """`value` with every float at four decimals, tuples as lists."""
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return value


def result_json(result: Mapping[str, Any]) -> str:
    """A result as indented JSON with a line end."""
    return json.dumps(rounded(result), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def write_text(path: Path, text: str) -> None:
    """Writes a file in one step: a reader sees the old or the new one.

    Raises:
        InvalidInput: the place cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            # mkstemp makes it private; results are for everyone who may read the folder.
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise InvalidInput(f"Cannot write {path}: {error.strerror or error}", field="json") from error
