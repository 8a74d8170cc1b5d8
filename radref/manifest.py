"""`manifest.jsonl` beside documents: title, topic and language of each file, a JSON object a line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from radref.api.common.v1 import documents_pb2
from radref.errors import InvalidInput

MANIFEST_NAME = "manifest.jsonl"


class ManifestEntry(BaseModel):
    """One line. Keys beside these are allowed (attribution, checksums) and ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    file: str = Field(min_length=1)
    document_id: str = Field(default="", validation_alias="doc_id")
    title: str = ""
    topic: str = ""
    language: str = ""
    source_category: str = ""
    licence: str = ""
    source: str | dict[str, Any] = ""
    year: int = 0
    authority: str = ""
    effective_from: datetime | None = None
    effective_until: datetime | None = None
    supersedes: tuple[str, ...] = ()

    def metadata(self) -> documents_pb2.DocumentMetadata:
        """The entry as the API takes it; a structured source becomes "repo path@commit".

        Moments are ISO 8601; without a zone UTC.
        """
        source = self.source
        if isinstance(source, dict):
            place = " ".join(str(source[key]) for key in ("repo", "path") if source.get(key))
            source = f"{place}@{source['commit']}" if source.get("commit") else place
        made = documents_pb2.DocumentMetadata(
            title=self.title,
            topic=self.topic,
            language=self.language,
            source_category=self.source_category,
            licence=self.licence,
            source=source,
            year=self.year,
            authority=self.authority,
            supersedes=self.supersedes,
        )
        for stamp, moment in (
            (made.effective_from, self.effective_from),
            (made.effective_until, self.effective_until),
        ):
            if moment is not None:
                stamp.FromDatetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
        return made


def load_manifest(folder: Path) -> dict[str, ManifestEntry]:
    """Entries by file name; empty when the folder has no manifest.

    Raises:
        InvalidInput: a line is not JSON, lacks `file` or names a file twice; names the line.
    """
    path = folder / MANIFEST_NAME
    if not path.is_file():
        return {}
    entries: dict[str, ManifestEntry] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entry = ManifestEntry.model_validate(json.loads(line))
        except (ValueError, ValidationError) as exc:
            raise InvalidInput(f"{path} line {number}: {exc}") from None
        if entry.file in entries:
            raise InvalidInput(f"{path} line {number}: {entry.file} is named twice")
        entries[entry.file] = entry
    return entries
