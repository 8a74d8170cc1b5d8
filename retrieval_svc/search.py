"""The searches of one question: what each leg returned, how each went, and only what is active."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import structlog

from radref.errors import RadrefError
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.language_tags import primary_language
from retrieval_svc.model import Filters, Hit, Leg, ParentHit, ParentKey
from retrieval_svc.store.protocol import Found, VectorStore

log = structlog.get_logger()

# Read beyond what is needed at once: a few points of other versions then cost no second search.
MARGIN = 10
# Children looked at of each parent whose cosine is completed; a parent of 1,800 tokens has about six.
_CHILDREN_A_PARENT = 20

H = TypeVar("H", Hit, ParentHit)


@dataclass(frozen=True, slots=True)
class LegReport:
    """How a leg went in one collection; not ok = results are missing because it failed or was late."""

    leg: Leg
    topic: str
    ok: bool
    hits: int


class Search:
    """The searches of one question. One that fails or is late is reported, not raised.

    Args:
        active: ids of the stagings whose points count.
        timeout: seconds that one search may take, > 0.

    Attributes:
        store_seconds: that the store worked on all searches so far.
        store_failed: one of them failed or was late.
    """

    def __init__(
        self, store: VectorStore, *, filters: Filters, active: Container[str], timeout: float
    ) -> None:
        self._store = store
        self._filters = filters
        self._active = active
        self._timeout = timeout
        self._hits: defaultdict[tuple[Leg, str], int] = defaultdict(int)
        self._failed: set[tuple[Leg, str]] = set()
        self.store_seconds = 0.0
        self.store_failed = False

    @property
    def reports(self) -> tuple[LegReport, ...]:
        """One a leg and topic that was searched, or that `skipped` was told of."""
        return tuple(
            LegReport(leg, topic, (leg, topic) not in self._failed, hits)
            for (leg, topic), hits in self._hits.items()
        )

    def skipped(self, leg: Leg, topics: Iterable[str], *, ok: bool) -> None:
        """Notes that a leg was not searched: ok = it had nothing to find, else something else failed."""
        for topic in topics:
            self._hits[leg, topic] += 0
            if not ok:
                self._failed.add((leg, topic))

    async def dense(
        self, vector: Sequence[float], languages: Mapping[str, Sequence[str]], depth: int
    ) -> dict[str, list[Hit]]:
        """The best `depth` children by cosine of each language in each topic.

        Args:
            languages: by topic, the primary languages to search one by one; none = all at once.
        """
        searches = [
            (topic, filters)
            for topic, names in languages.items()
            for filters in (self._by_language(names) if names else [self._filters])
        ]

        async def one(topic: str, filters: Filters) -> list[Hit]:
            return await self._search(
                Leg.DENSE,
                [topic],
                lambda limit: self._store.search_dense(topic, vector, limit=limit, filters=filters),
                depth,
            )

        return _by_topic(searches, await asyncio.gather(*(one(*search) for search in searches)))

    async def children(self, terms: Mapping[str, SparseVector], depth: int) -> dict[str, list[Hit]]:
        """The best `depth` children by BM25 in each topic, with the weighted terms of that topic."""

        async def one(topic: str, vector: SparseVector) -> list[Hit]:
            return await self._search(
                Leg.BM25,
                [topic],
                lambda limit: self._store.search_sparse(topic, vector, limit=limit, filters=self._filters),
                depth,
            )

        return dict(zip(terms, await asyncio.gather(*(one(*item) for item in terms.items())), strict=True))

    async def parents(
        self, terms: Mapping[str, SparseVector], depth: int, only: Sequence[ParentKey] = ()
    ) -> list[ParentHit]:
        """The best `depth` parents by BM25 of each group of topics with the same weights.

        Args:
            only: these parents; empty = all.
        """
        groups: defaultdict[SparseVector, list[str]] = defaultdict(list)
        for topic, vector in terms.items():
            groups[vector].append(topic)

        async def one(topics: Sequence[str], vector: SparseVector) -> list[ParentHit]:
            return await self._search(
                Leg.BM25,
                topics,
                lambda limit: self._store.search_parents(
                    topics, vector, limit=limit, filters=self._filters, parents=only
                ),
                depth,
            )

        found = await asyncio.gather(*(one(topics, vector) for vector, topics in groups.items()))
        return [hit for hits in found for hit in hits]

    async def whole_topic(
        self, topic: str, find: Callable[[], Awaitable[list[ParentHit]]], depth: int
    ) -> list[ParentHit]:
        """The best `depth` active parents of a topic as another ranking than the store's finds them.

        Args:
            find: all of them, best first.
        """

        async def all_of_them(limit: int) -> Found[ParentHit]:
            return Found(await find(), 0.0)

        return await self._search(Leg.BM25, [topic], all_of_them, depth)

    async def dense_of(
        self, vector: Sequence[float], parents: Mapping[str, Sequence[ParentKey]]
    ) -> dict[str, list[Hit]]:
        """Children of these parents, by topic, with their cosine."""

        async def one(topic: str, keys: Sequence[ParentKey]) -> list[Hit]:
            return await self._search(
                Leg.DENSE,
                [topic],
                lambda limit: self._store.search_dense(
                    topic, vector, limit=limit, filters=self._filters, parents=keys
                ),
                _CHILDREN_A_PARENT * len(keys),
            )

        found = await asyncio.gather(*(one(*item) for item in parents.items()))
        return dict(zip(parents, found, strict=True))

    def _by_language(self, names: Sequence[str]) -> list[Filters]:
        asked = self._filters.languages
        split = []
        for name in names:
            tags = tuple(tag for tag in asked if primary_language(tag) == name) if asked else (name,)
            if tags:
                split.append(replace(self._filters, languages=tags))
        return split

    async def _search(
        self,
        leg: Leg,
        topics: Sequence[str],
        search: Callable[[int], Awaitable[Found[H]]],
        depth: int,
    ) -> list[H]:
        try:
            async with asyncio.timeout(self._timeout):
                hits = await self._active_hits(search, depth)
        except (RadrefError, TimeoutError) as exc:
            reason = exc.reason if isinstance(exc, RadrefError) else "late"
            log.warning("search leg failed", leg=leg.value, topics=list(topics), reason=reason)
            self.skipped(leg, topics, ok=False)
            self.store_failed = True
            return []
        for topic in topics:
            self._hits[leg, topic] += 0
        for hit in hits:
            topic = hit.place.topic if isinstance(hit, ParentHit) else topics[0]
            self._hits[leg, topic] += 1
        return hits

    async def _active_hits(self, search: Callable[[int], Awaitable[Found[H]]], depth: int) -> list[H]:
        """The best `depth` hits of active stagings.

        Points of superseded or not yet activated versions lie in the same collection until they are deleted:
        the search is repeated deeper until enough active ones came or there are no more.
        """
        limit = depth + MARGIN
        while True:
            found = await search(limit)
            self.store_seconds += found.seconds
            kept = [hit for hit in found.hits if _stage(hit) in self._active]
            if len(kept) >= depth or len(found.hits) < limit:
                return kept[:depth]
            limit *= 2


def _stage(hit: Hit | ParentHit) -> str:
    return hit.place.key.stage if isinstance(hit, ParentHit) else hit.child.parent.stage


def _by_topic(searches: Sequence[tuple[str, Filters]], found: Sequence[list[Hit]]) -> dict[str, list[Hit]]:
    hits: dict[str, list[Hit]] = {}
    for (topic, _), more in zip(searches, found, strict=True):
        hits.setdefault(topic, []).extend(more)
    return hits
