"""Document ids of files that have none: from their path, so that a changed file stays the same document."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from pathlib import PurePath

from radref.slug import slug

MAX_ID = 128
_SLUG_LENGTH = 96
_HASH_DIGITS = 10
# No doubled separators: "--" can then stand for the folder, and no two plain paths give the same id.
_PLAIN = re.compile(r"[A-Za-z0-9]+([._-][A-Za-z0-9]+)*")


def path_document_id(relative: PurePath) -> str:
    """Id of a file by its path inside the folder it was found in, at most 128 characters.

    A path of plain names is its own id with "--" for each folder ("mri/zones.md" is "mri--zones.md").
    Any other name is made readable and followed by 10 digits of the SHA-256 of the path, so that names
    that read alike stay apart. Depends on nothing but the path, whatever lies beside the file.
    """
    # File systems disagree about the form of letters with marks; the file is the same.
    parts = [unicodedata.normalize("NFC", part) for part in relative.parts]
    plain = "--".join(parts)
    if len(plain) <= MAX_ID and all(_PLAIN.fullmatch(part) for part in parts):
        return plain
    # Undecodable bytes of a file name are kept apart too.
    digest = hashlib.sha256("/".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{slug(' '.join(parts), _SLUG_LENGTH) or 'document'}--{digest[:_HASH_DIGITS]}"
