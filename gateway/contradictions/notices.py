"""Contradictions as notices: those that radref found, and those that only the generator reported."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gateway import wording
from gateway.contradictions.finder import find_contradictions
from gateway.model import Contradiction, Notice, NoticeKind, RankedPassage
from gateway.validation import ValidatedConflict


def contradiction_notices(
    question: str,
    parents: Sequence[RankedPassage],
    cited: Collection[str],
    reported: Sequence[ValidatedConflict] = (),
) -> tuple[Notice, ...]:
    """A notice for each contradiction, radref's own first.

    Args:
        parents: what the generator read.
        cited: citation ids of the answer.
        reported: what the generator reported, validated; left out where a found one names the same passages.
    """
    found = find_contradictions(question, parents, cited)
    known = [{one.first.citation_id, one.second.citation_id} for one in found]
    return (
        *(_notice(question, contradiction) for contradiction in found),
        *(
            Notice(
                NoticeKind.CONTRADICTION,
                conflict.description or wording.contradiction(question),
                conflict.citation_ids,
            )
            for conflict in reported
            if set(conflict.citation_ids) not in known
        ),
    )


def _notice(question: str, contradiction: Contradiction) -> Notice:
    places = (contradiction.first, contradiction.second)
    ids = tuple(dict.fromkeys(place.citation_id for place in places))
    return Notice(
        NoticeKind.CONTRADICTION, wording.different_numbers(question, contradiction), ids, contradiction
    )
