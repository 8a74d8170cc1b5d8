"""Asks product rows in turn, in this process, and counts the processor time of what is not embedding."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.retrieval_ablation.outcomes import Ranks
from benchmarks.retrieval_ablation.product_rows import ProductRow
from benchmarks.retrieval_ablation.questions import Asked, Vectors
from radref.appropriateness.passage import parse
from radref.errors import Unavailable
from retrieval_svc.generations import Generations
from retrieval_svc.indexed_text import IndexedText
from retrieval_svc.query import Query, Topics
from retrieval_svc.retrieve import QueryEmbedding, Retriever
from retrieval_svc.variant_search import VariantSearch

# Long: a search that is late on a busy machine would change the figures.
_TIMEOUT = 120.0


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """An index that rows ask."""

    generations: Generations
    text: IndexedText


@dataclass(frozen=True, slots=True)
class Answered:
    """What a row returned.

    Attributes:
        ranks: of each question's quotes.
        returned: citation ids of each question's parents, best first.
        milliseconds: processor time of one retrieval without embedding, median over questions and rounds.
            The store runs in this process, so all of it counts, and other processes hardly disturb it.
    """

    ranks: Sequence[Ranks]
    returned: Sequence[Sequence[str]]
    milliseconds: float


async def ask_rows(
    rows: Sequence[ProductRow],
    indexes: Mapping[str, OpenIndex],
    asked: Sequence[Asked],
    vectors: Vectors,
    topics: Topics,
    *,
    rounds: int,
) -> dict[ProductRow, Answered]:
    """Asks every question of every row, rows in turn, so that a busy moment meets all rows alike.

    Args:
        indexes: by analysis.
        vectors: of every question's text.
        rounds: timed ones, >= 1; an untimed one comes before.

    Raises:
        Unavailable: a leg failed or was late.
    """
    retrievers = {row: _retriever(row, indexes[row.analysis], vectors, topics) for row in rows}
    milliseconds: defaultdict[ProductRow, list[float]] = defaultdict(list)
    returned: dict[ProductRow, list[list[str]]] = {row: [] for row in rows}
    for number in range(rounds + 1):
        for at, one in enumerate(asked):
            # Another row goes first each time: none always runs on caches that the one before left cold.
            shift = at % len(rows)
            for row in (*rows[shift:], *rows[:shift]):
                started = time.process_time()
                found = await retrievers[row].retrieve(Query(text=one.text, legs=row.legs))
                milliseconds[row].append(1000 * (time.process_time() - started))
                if not all(leg.ok for leg in found.legs):
                    raise Unavailable(f"{row.name}: a leg failed or was late")
                if number == 0:
                    returned[row].append([each.parent.key.citation_id for each in found.parents])
    return {
        row: Answered(
            ranks=[one.ranks(ids) for one, ids in zip(asked, returned[row], strict=True)],
            returned=returned[row],
            milliseconds=statistics.median(milliseconds[row][len(asked) :]),
        )
        for row in rows
    }


def _retriever(row: ProductRow, index: OpenIndex, vectors: Vectors, topics: Topics) -> Retriever:
    async def embed(text: str, fingerprint: str) -> QueryEmbedding:
        # Made beforehand: embedding is the same for all rows and would hide what differs.
        return QueryEmbedding(vectors[text].tolist(), fingerprint)

    return Retriever(
        searched=lambda: index.generations.searched,
        text=index.text,
        embed=embed,
        embed_timeout=_TIMEOUT,
        search_timeout=_TIMEOUT,
        profile=row.profile,
        topics=topics,
        variants=VariantSearch(topics.appropriateness, parse),
    )
