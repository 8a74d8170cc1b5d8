"""Document ids made from file name and content: readable, and the same for the same upload."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

from radref.slug import slug

_SLUG_LENGTH = 64
_HASH_DIGITS = 12


def derived_document_id(file_name: str, sha256: str) -> str:
    """`<readable part of the file name>-<first 12 hexadecimal digits of the SHA-256>`, at most 77 characters.

    Args:
        file_name: as uploaded, in any script; folders are dropped.
        sha256: of the bytes, 64 hexadecimal digits.
    """
    stem = PurePosixPath(PureWindowsPath(file_name).name).stem
    return f"{slug(stem, _SLUG_LENGTH) or 'document'}-{sha256[:_HASH_DIGITS]}"
