"""Whether what a response cites is there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from evaluation.passage_text import comparable, holds_quote
from radref.api.gateway.v1 import consult_pb2
from radref.errors import InvalidInput, NotFound

# The text behind a citation id; raises NotFound or InvalidInput where there is none.
PassageText = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class CitationCounts:
    """Citation ids of a response: how many there are, how many lead where they should."""

    emitted: int
    resolving: int


async def count_citations(response: consult_pb2.ConsultResponse, passage_text: PassageText) -> CitationCounts:
    """Looks every citation id of the variant and of its procedures up.

    A procedure's resolves when its passage holds the procedure's name word for word, the variant's when its
    passage holds the names of all procedures. An id that stands twice counts twice.

    Raises:
        RadrefError: a look-up failed other than for want of the passage.
    """
    names = [procedure.name for procedure in response.procedures]
    cited = [(response.variant.citation_id, names)] if response.variant.citation_id else []
    for procedure in response.procedures:
        cited += [(citation_id, [procedure.name]) for citation_id in procedure.citation_ids]
    resolving = 0
    for citation_id, wanted in cited:
        try:
            text = comparable(await passage_text(citation_id))
        except (NotFound, InvalidInput):
            continue
        resolving += all(holds_quote(text, name) for name in wanted)
    return CitationCounts(len(cited), resolving)
