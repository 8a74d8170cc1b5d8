"""Stable ids of passages."""

from __future__ import annotations

from hashlib import sha256

# Part of every citation id. Raise it when a change of this package cuts the same document differently.
CHUNKING_VERSION = "1"

DIGITS = 20


def citation_id(document_id: str, version: int, chunking_version: str, ordinal: int, text: str) -> str:
    """The first 20 hexadecimal digits (80 bits) of SHA-256 over the five values.

    Each value is written as its length in bytes, a colon and its UTF-8 bytes (a netstring without the comma),
    so that no two different tuples are written alike.

    Args:
        document_id: id of the document.
        version: version of the document, from 1.
        chunking_version: `CHUNKING_VERSION` of the code that cut it.
        ordinal: position of the parent in the document, from 0.
        text: the parent's text.
    """
    digest = sha256()
    for value in (document_id, str(version), chunking_version, str(ordinal), text):
        encoded = value.encode()
        digest.update(b"%d:" % len(encoded))
        digest.update(encoded)
    return digest.hexdigest()[:DIGITS]
