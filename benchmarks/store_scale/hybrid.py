"""What one question asks of the store in each profile: all its searches, nothing around them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from retrieval_svc.bm25 import SparseVector
from retrieval_svc.model import Filters, Hit, ParentHit, ParentKey
from retrieval_svc.profiles import DEFAULT, PAPER
from retrieval_svc.search import MARGIN
from retrieval_svc.store.protocol import Found, VectorStore

# What retrieval asks for of each leg: the profile's depth, and some more for points of other versions.
_DEFAULT_DENSE = DEFAULT.leg_depth + MARGIN
_DEFAULT_BM25 = DEFAULT.pool + MARGIN
_PAPER = PAPER.leg_depth + MARGIN
# Parents that only one leg found, whose other score is then asked for: as many as the real corpus gives.
_DENSE_COMPLETED = 30
_BM25_COMPLETED = 40
_CHILDREN_A_PARENT = 20


@dataclass(frozen=True, slots=True)
class StoreQuestion:
    """A question as the store meets it.

    Attributes:
        vector: L2 norm 1.
        parent_terms: weighted with the IDF of all parents.
        child_terms: with that of the children of each topic.
    """

    vector: tuple[float, ...]
    parent_terms: SparseVector
    child_terms: Mapping[str, SparseVector]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the searches found, before fusion.

    Attributes:
        dense: by topic and language ("" = all), best first.
        children: BM25 over children, by topic.
        parents: BM25 over parents.
        searches: how many were made.
        engine_seconds: their own time, without waiting for each other.
    """

    dense: Mapping[tuple[str, str], Sequence[Hit]]
    children: Mapping[str, Sequence[Hit]]
    parents: Sequence[ParentHit]
    searches: int
    engine_seconds: float


async def ask_default(
    store: VectorStore, question: StoreQuestion, languages: Mapping[str, Sequence[str]]
) -> Answer:
    """Profile `default`: children by cosine in each language of each topic, parents by BM25, then the scores
    that parents of one leg lack in the other.

    Args:
        languages: by topic.
    """
    cells = [(topic, language) for topic, names in languages.items() for language in names]
    topics = list(languages)
    dense, parents = await asyncio.gather(
        asyncio.gather(
            *(
                _dense(store, topic, question, Filters(languages=(language,)), limit=_DEFAULT_DENSE)
                for topic, language in cells
            )
        ),
        store.search_parents(topics, question.parent_terms, limit=_DEFAULT_BM25, filters=Filters()),
    )
    by_cosine = _parents_by_cosine([hit for found in dense for hit in found.hits])
    by_terms = [hit.place for hit in parents.hits]
    known = {place.key for place in by_terms}
    lacking_terms = [key for key in by_cosine if key not in known][:_BM25_COMPLETED]
    lacking_cosine: defaultdict[str, list[ParentKey]] = defaultdict(list)
    for place in [place for place in by_terms if place.key not in by_cosine][:_DENSE_COMPLETED]:
        lacking_cosine[place.topic].append(place.key)
    completed, completed_parents = await asyncio.gather(
        asyncio.gather(
            *(
                _dense(store, topic, question, Filters(), keys, limit=_CHILDREN_A_PARENT * len(keys))
                for topic, keys in lacking_cosine.items()
            )
        ),
        _complete_parents(store, topics, question, lacking_terms),
    )
    every: list[Found[Hit] | Found[ParentHit]] = [*dense, parents, *completed, *completed_parents]
    return Answer(
        dense={cell: found.hits for cell, found in zip(cells, dense, strict=True)},
        children={},
        parents=parents.hits,
        searches=len(every),
        engine_seconds=sum(found.seconds for found in every),
    )


async def ask_paper(store: VectorStore, question: StoreQuestion, topics: Sequence[str]) -> Answer:
    """Profile `paper`: children by cosine and by BM25 in each topic."""
    found = await asyncio.gather(
        *(_dense(store, topic, question, Filters(), limit=_PAPER) for topic in topics),
        *(
            store.search_sparse(topic, question.child_terms[topic], limit=_PAPER, filters=Filters())
            for topic in topics
        ),
    )
    dense, sparse = found[: len(topics)], found[len(topics) :]
    return Answer(
        dense={(topic, ""): one.hits for topic, one in zip(topics, dense, strict=True)},
        children={topic: one.hits for topic, one in zip(topics, sparse, strict=True)},
        parents=[],
        searches=len(found),
        engine_seconds=sum(one.seconds for one in found),
    )


async def _complete_parents(
    store: VectorStore, topics: Sequence[str], question: StoreQuestion, keys: Sequence[ParentKey]
) -> list[Found[ParentHit]]:
    if not keys:  # none named would mean all
        return []
    found = await store.search_parents(
        topics, question.parent_terms, limit=len(keys), filters=Filters(), parents=keys
    )
    return [found]


async def _dense(
    store: VectorStore,
    topic: str,
    question: StoreQuestion,
    filters: Filters,
    parents: Sequence[ParentKey] = (),
    *,
    limit: int,
) -> Found[Hit]:
    return await store.search_dense(topic, question.vector, limit=limit, filters=filters, parents=parents)


def _parents_by_cosine(hits: Sequence[Hit]) -> list[ParentKey]:
    """Distinct parents, that of the best child first."""
    return list(dict.fromkeys(hit.child.parent for hit in sorted(hits, key=lambda hit: -hit.score)))
