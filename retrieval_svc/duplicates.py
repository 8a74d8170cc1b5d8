"""Parents of different documents that hold the same text: one of them is enough in a result list."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from retrieval_svc.model import ParentKey, ParentPlace

# 64 bits: among a million parents two different texts collide with a probability of 3e-8.
_KEY_DIGITS = 16
# Soft hyphen, zero-width characters, byte order mark.
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))


def text_key(text: str) -> str:
    """The same for texts that differ in white space, invisible characters and composition (NFC) only.

    Case, signs and superscripts stay: "mSv" and "MSv", "10²" and "102" are not the same.
    """
    plain = " ".join(unicodedata.normalize("NFC", text.translate(_INVISIBLE)).split())
    return hashlib.sha256(plain.encode()).hexdigest()[:_KEY_DIGITS]


def duplicate_parents(
    places: Iterable[ParentPlace], preferred: Callable[[str], bool]
) -> dict[ParentKey, ParentKey]:
    """Which parents repeat the text of another document, and whose.

    Of every text the document of the first parent stays, of the first preferred one where there is any. Its
    own repetitions stay too: they are different places of one document.

    Args:
        places: of the parents that were found, best first; one may come several times.
        preferred: whether a document, by its id, goes before others that hold the same text.

    Returns:
        The parent that stands for it, by parent that is left out.
    """
    by_text: defaultdict[str, dict[ParentKey, str]] = defaultdict(dict)
    for place in places:
        by_text[place.parent_text].setdefault(place.key, place.document_id)
    repeated: dict[ParentKey, ParentKey] = {}
    for parents in by_text.values():
        if len(parents) == 1:
            continue
        kept = min(parents, key=lambda key: not preferred(parents[key]))  # min keeps the first of equals
        for key, document_id in parents.items():
            if document_id != parents[kept]:
                repeated[key] = kept
    return repeated


def other_documents(
    repeated: Mapping[ParentKey, ParentKey], documents: Mapping[ParentKey, str]
) -> dict[ParentKey, Sequence[str]]:
    """Ids of the documents that a parent stands for, ascending, by parent that stays.

    Args:
        documents: document of every parent in `repeated`.
    """
    found: defaultdict[ParentKey, set[str]] = defaultdict(set)
    for left_out, kept in repeated.items():
        found[kept].add(documents[left_out])
    return {kept: sorted(ids) for kept, ids in found.items()}
