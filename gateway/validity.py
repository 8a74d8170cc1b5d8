"""Documents that are not in force: behind those that are, and never cited without saying so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gateway import wording
from gateway.model import Notice, NoticeKind, Passage, RankedPassage, Validity


def in_force_first(parents: Iterable[RankedPassage]) -> tuple[RankedPassage, ...]:
    """Those in force before the others; the order of each stays."""
    return tuple(sorted(parents, key=lambda parent: parent.passage.is_out_of_force))


def for_generation(parents: Sequence[RankedPassage], places: int) -> tuple[RankedPassage, ...]:
    """What the generator reads of the passages that were found.

    The first `places`, except that a document is not quoted beside the one that takes its place: the answer
    is what is in force. The passage with the best score is always among them, unless that rule leaves it
    out: a question may be about what only an expired document holds.

    Args:
        parents: those in force first, see `in_force_first`.
        places: >= 1.
    """
    documents = {parent.passage.document_id for parent in parents[:places]}
    read = [parent for parent in parents if not _has_successor(parent, documents)]
    chosen = read[:places]
    best = max(read, key=lambda parent: parent.score, default=None)
    if best is not None and best not in chosen:
        chosen[-1] = best
    return tuple(chosen)


def not_in_force(question: str, parents: Sequence[RankedPassage], cited: Iterable[str]) -> tuple[Notice, ...]:
    """A notice for every cited document that is not in force, in the order of the passages.

    Args:
        parents: what was found.
        cited: citation ids of the answer.
    """
    titles = {parent.passage.document_id: parent.passage.document.title for parent in parents}
    wanted = frozenset(cited)
    notices: dict[tuple[str, int], Notice] = {}
    for passage in (parent.passage for parent in parents):
        if passage.citation_id not in wanted or not passage.is_out_of_force:
            continue
        key = passage.document_id, passage.version
        known = notices.get(key)
        notices[key] = (
            replace(known, citation_ids=(*known.citation_ids, passage.citation_id))
            if known
            else Notice(NoticeKind.NOT_IN_FORCE, _message(question, passage, titles), (passage.citation_id,))
        )
    return tuple(notices.values())


def _has_successor(parent: RankedPassage, documents: set[str]) -> bool:
    return parent.passage.is_out_of_force and parent.passage.superseded_by in documents


def _message(question: str, passage: Passage, titles: dict[str, str]) -> str:
    document = passage.document
    successor = passage.superseded_by
    if titles.get(successor):
        successor = f"{titles[successor]} ({successor})"
    if passage.validity is Validity.NOT_YET:
        return wording.not_yet_in_force(question, document.title, document.effective_from)
    if passage.validity is Validity.EXPIRED:
        return wording.expired(question, document.title, document.effective_until, successor)
    return wording.superseded(question, document.title, passage.superseded_at, successor)
