"""Metadata of a new version whose curator filled in only what changed. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace

from ingest_svc.metadata import DocumentMetadata


def inherit(
    given: DocumentMetadata, before: DocumentMetadata, *, derived: Collection[str]
) -> DocumentMetadata:
    """`given`, its empty fields as in `before`.

    Args:
        derived: fields of `before` that were taken from its content: those of the new content count.
    """
    kept = {
        field.name: getattr(before, field.name)
        for field in fields(DocumentMetadata)
        if field.name not in derived and getattr(given, field.name) in ("", 0, None, ())
    }
    return replace(given, **kept)
