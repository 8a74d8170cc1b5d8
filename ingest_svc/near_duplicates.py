"""Finds documents with nearly the same text: the same text in another format, or a slightly edited copy."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy import select
from sqlalchemy.orm import Session

from ingest_svc.lifecycle import LIVE_STATES
from ingest_svc.registry.models import DocumentRow, VersionRow

# The standard error of an estimate near 0.9 is sqrt(0.9 * 0.1 / 256) = 0.019 (Broder 1997).
PERMUTATIONS = 256
# One changed word changes three shingles, and word order counts.
SHINGLE_WORDS = 3
SIMILAR = 0.9
MAX_TWINS = 10
# Numbers stay: two editions of a table of doses differ in nothing else.
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Twin:
    """A document with nearly the same text; `similarity`: estimated Jaccard index of shingles, 0 to 1."""

    document_id: str
    version: int
    similarity: float


def signature(text: str) -> bytes:
    """MinHash signature of a text (Broder 1997), 256 unsigned 32-bit integers, little-endian.

    Words are compared in NFKC and without case; what stands between them does not count, so that a PDF and a
    DOCX of the same text agree. A text without words has the signature b"" and is like nothing.
    """
    # Its package brings scipy: not at start.
    from datasketch import MinHash  # type: ignore[import-untyped]

    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    if not words:
        return b""
    width = min(SHINGLE_WORDS, len(words))
    shingles = {" ".join(words[start : start + width]).encode() for start in range(len(words) - width + 1)}
    made = MinHash(num_perm=PERMUTATIONS, seed=1)
    made.update_batch(sorted(shingles))
    return np.asarray(made.hashvalues, dtype="<u4").tobytes()


def record_twins(
    session: Session, document_id: str, version: int, signature: bytes, *, similar: float = SIMILAR
) -> Sequence[Twin]:
    """Stores a version's signature and what other live documents it resembles, most alike first.

    Of each other document the version most alike is named; at most ten documents. To be called in the
    transaction that stores the parsed text: of two twins that arrive together, the later one sees the other.

    Args:
        similar: similarity from which on a document is named, 0 to 1.
    """
    others = session.execute(
        select(VersionRow.document_id, VersionRow.version, VersionRow.minhash)
        .join(DocumentRow, DocumentRow.document_id == VersionRow.document_id)
        .where(
            VersionRow.document_id != document_id,
            VersionRow.state.in_([state.value for state in LIVE_STATES]),
            VersionRow.version.in_((DocumentRow.newest_version, DocumentRow.active_version)),
            VersionRow.minhash.is_not(None),
        )
        .order_by(VersionRow.document_id, VersionRow.version)
    ).all()
    best: dict[str, Twin] = {}
    similarities = _similarities(signature, [row[2] or b"" for row in others])
    for (other, number, _), value in zip(others, similarities, strict=True):
        known = best.get(other)
        if value >= similar and (known is None or value >= known.similarity):
            best[other] = Twin(other, number, round(float(value), 3))
    twins = sorted(best.values(), key=lambda twin: (-twin.similarity, twin.document_id))[:MAX_TWINS]
    row = session.get_one(VersionRow, (document_id, version))
    row.minhash = signature
    row.near_duplicates = [asdict(twin) for twin in twins]
    return twins


def twins_warning(twins: Sequence[Twin]) -> str:
    """What a reviewer is told."""
    named = ", ".join(f"{twin.document_id} ({twin.similarity:.0%})" for twin in twins)
    return (
        f"nearly the same text as {named}: replace that document, or reject this one, if it is the same work"
    )


def _similarities(signature: bytes, others: Sequence[bytes]) -> npt.NDArray[np.float64]:
    size = PERMUTATIONS * 4
    found = np.zeros(len(others))
    comparable = [index for index, other in enumerate(others) if len(other) == len(signature) == size]
    if comparable:
        mine = np.frombuffer(signature, dtype="<u4")
        theirs = np.frombuffer(b"".join(others[index] for index in comparable), dtype="<u4")
        found[comparable] = (theirs.reshape(-1, PERMUTATIONS) == mine).mean(axis=1)
    return found
