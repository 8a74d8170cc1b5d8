"""Profile `paper` in the appropriateness collection: Okapi BM25 over all its active variants."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import structlog

from radref.appropriateness.model import Variant
from radref.errors import Unavailable
from retrieval_svc.catalogue import Snapshot
from retrieval_svc.duplicates import text_key
from retrieval_svc.model import Filters, Parent, ParentHit, ParentPlace, StageRecord
from retrieval_svc.query import passes
from retrieval_svc.shielded import Shielded
from retrieval_svc.store.kept import Kept
from retrieval_svc.store.protocol import VectorStore
from retrieval_svc.variant_bm25 import VariantBm25

log = structlog.get_logger()

# The set that is searched, and some that are previewed.
_SETS_KEPT = 4
# Passages named in the log; the count says how many there are.
_NAMED = 20

# The variant that a passage holds; raises ValueError where it holds none.
ParseVariant = Callable[[str], Variant]


@dataclass(frozen=True, slots=True)
class _Passage:
    """A variant and where it stands."""

    place: ParentPlace
    variant: Variant


@dataclass(frozen=True, slots=True)
class _Indexed:
    """Variants in the order of documents and passages, and their scores in that order."""

    places: Sequence[ParentPlace]
    bm25: VariantBm25

    def find(self, scenario: str, passing: frozenset[str]) -> list[ParentHit]:
        """Variants with a score above 0 of these stagings, best first; equal ones in their order."""
        scores = self.bm25.scores(scenario)
        return [
            ParentHit(self.places[at], float(scores[at]))
            for at in np.argsort(-scores, kind="stable")
            if scores[at] > 0 and self.places[at].key.stage in passing
        ]


class VariantSearch:
    """Finds variants by BM25, with one index for each set of active stagings. Used on the event loop only.

    An index is made by the first query that meets a new set of stagings, in a thread, and kept. Points of a
    staging never change, so it is never stale: what is withdrawn or activated makes another set.

    Args:
        topic: the appropriateness collection.
        parse: the variant in a passage.
    """

    def __init__(self, topic: str, parse: ParseVariant) -> None:
        self._topic = topic
        self._parse = parse
        self._indexed: Kept[frozenset[str], _Indexed] = Kept(_SETS_KEPT)
        # Of the set that was indexed last, by staging: the next set mostly differs in one.
        self._passages: Mapping[str, Sequence[_Passage]] = {}
        self._indexing = asyncio.Lock()
        self._shielded = Shielded()

    async def find(
        self, store: VectorStore, snapshot: Snapshot, scenario: str, filters: Filters
    ) -> list[ParentHit]:
        """All variants that share words with a scenario, best first, equal ones by document id.

        Filters leave variants out; they do not change how rare a word is.

        Raises:
            Unavailable: the store failed while its passages were read, or lacks some.
        """
        records = {
            stage: record for stage, record in snapshot.stages.items() if record.metadata.topic == self._topic
        }
        stages = frozenset(records)
        indexed = self._indexed.get(stages)
        if indexed is None:
            # It goes on when this query is late: the next one finds it.
            indexed = await self._shielded(self._index(store, records))
        # What was used last goes last.
        self._indexed[stages] = self._indexed.pop(stages, indexed)
        self._indexed.trim()
        passing = frozenset(stage for stage, record in records.items() if passes(filters, record))
        return indexed.find(scenario, passing)

    async def _index(self, store: VectorStore, records: Mapping[str, StageRecord]) -> _Indexed:
        """The index of these stagings, made once however many ask for it.

        Raises:
            Unavailable: the store failed, or lacks passages: without a variant another one would seem best.
        """
        stages = frozenset(records)
        async with self._indexing:
            made = self._indexed.get(stages)
            if made is None:
                known = self._passages
                unread = [record for stage, record in records.items() if stage not in known]
                parents = await store.parents_of([record.stage for record in unread])
                staged = sum(record.parents for record in unread)
                if len(parents) != staged:
                    log.error("variants missing in the index", stored=len(parents), staged=staged)
                    raise Unavailable(
                        "passages of the appropriateness collection are missing in the index",
                        metadata={"backend": "vector-store"},
                    )
                read = await asyncio.to_thread(self._read, parents, records)
                self._passages = {
                    stage: known[stage] if stage in known else read.get(stage, ()) for stage in records
                }
                made = self._indexed[stages] = await asyncio.to_thread(_index_of, self._passages, records)
                log.info("variants indexed", variants=len(made.places), documents=len(records))
            return made

    def _read(
        self, parents: Sequence[Parent], records: Mapping[str, StageRecord]
    ) -> dict[str, list[_Passage]]:
        """The variants in these passages, in their order, by staging."""
        read: defaultdict[str, list[_Passage]] = defaultdict(list)
        no_variant: list[str] = []
        for parent in sorted(parents, key=lambda parent: parent.ordinal):
            document_id = records[parent.key.stage].document_id
            place = ParentPlace(parent.key, document_id, self._topic, text_key(parent.text))
            try:
                read[parent.key.stage].append(_Passage(place, self._parse(parent.text)))
            except ValueError:
                no_variant.append(parent.key.citation_id)
        if no_variant:
            log.error(
                "passages of the appropriateness collection hold no variant",
                count=len(no_variant),
                citation_ids=no_variant[:_NAMED],
            )
        return read


def _index_of(passages: Mapping[str, Sequence[_Passage]], records: Mapping[str, StageRecord]) -> _Indexed:
    ordered = sorted(passages, key=lambda stage: records[stage].document_id)
    found = [passage for stage in ordered for passage in passages[stage]]
    return _Indexed([passage.place for passage in found], VariantBm25([passage.variant for passage in found]))
