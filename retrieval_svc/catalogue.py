"""The index's own view of documents and versions, kept in memory and changed only after the store was."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from radref.validity import Superseders, superseders_of
from retrieval_svc.language_tags import primary_language
from retrieval_svc.model import DocumentRecord, Metadata, StageRecord
from retrieval_svc.statistics import CorpusStatistics, StageStatistics


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one query sees from beginning to end.

    Attributes:
        active: the staging that is searched, by document id.
        stages: the same stagings by their id.
        documents: metadata of the searched documents, by id.
        superseders: which of these documents name which others in `supersedes`.
        languages: primary languages of the searched documents, ascending, by topic.
        index_version: grows with every activation or withdrawal; 0 = none yet.
        changed_at: when it last did.
    """

    active: Mapping[str, StageRecord]
    stages: Mapping[str, StageRecord]
    documents: Mapping[str, Metadata]
    superseders: Superseders
    languages: Mapping[str, Sequence[str]]
    index_version: int
    changed_at: datetime | None

    @classmethod
    def of(
        cls, active: Mapping[str, StageRecord], index_version: int, changed_at: datetime | None
    ) -> Snapshot:
        """The snapshot in which these stagings are searched."""
        documents = {document_id: record.metadata for document_id, record in active.items()}
        return cls(
            active=MappingProxyType(active),
            stages=MappingProxyType({record.stage: record for record in active.values()}),
            documents=MappingProxyType(documents),
            superseders=superseders_of(documents),
            languages=MappingProxyType(_languages(documents.values())),
            index_version=index_version,
            changed_at=changed_at,
        )

    def with_staging(self, record: StageRecord) -> Snapshot:
        """The same with this staging in the place of what is searched of its document."""
        return Snapshot.of({**self.active, record.document_id: record}, self.index_version, self.changed_at)


class Catalogue:
    """Documents and their staged versions. Used on the event loop only.

    `snapshot` is replaced as a whole, never changed: a query that holds one sees the old or the new version
    of a document, never both and never neither.
    """

    def __init__(self) -> None:
        self._staged: dict[str, StageRecord] = {}
        self._documents: dict[str, DocumentRecord] = {}
        self._statistics = CorpusStatistics()
        self._snapshot = Snapshot.of({}, 0, None)

    @property
    def snapshot(self) -> Snapshot:
        return self._snapshot

    @property
    def statistics(self) -> CorpusStatistics:
        """Statistics of the snapshot's documents."""
        return self._statistics

    @property
    def staged(self) -> Iterable[StageRecord]:
        """Every complete staging, searched or not."""
        return tuple(self._staged.values())

    def load(
        self,
        stages: Iterable[StageRecord],
        documents: Iterable[DocumentRecord],
        statistics: Mapping[str, StageStatistics],
    ) -> None:
        """Replaces everything by what the store holds.

        Args:
            statistics: of every active staging, by its id.
        """
        self._staged = {record.stage: record for record in stages}
        self._documents = {record.document_id: record for record in documents}
        self._statistics = CorpusStatistics()
        for record in self._documents.values():
            if record.stage:
                self._statistics.add(self._staged[record.stage].metadata, statistics[record.stage])
        self._publish()

    def next_sequence(self) -> int:
        """One more than any staging or switch has."""
        staged = max((record.sequence for record in self._staged.values()), default=0)
        return max(staged, self._snapshot.index_version) + 1

    @property
    def documents(self) -> Iterable[DocumentRecord]:
        """The record of every document that was ever searched."""
        return tuple(self._documents.values())

    def document(self, document_id: str) -> DocumentRecord | None:
        return self._documents.get(document_id)

    def stage(self, stage: str) -> StageRecord:
        return self._staged[stage]

    def newest(self, document_id: str, version: int) -> StageRecord | None:
        """The latest staging of a version; None when it is not staged."""
        matching = [
            record
            for record in self._staged.values()
            if record.document_id == document_id and record.version == version
        ]
        return max(matching, key=lambda record: record.sequence, default=None)

    def knows(self, document_id: str) -> bool:
        """True when any version was ever staged and is not yet gone, or the document was once active."""
        return document_id in self._documents or any(
            record.document_id == document_id for record in self._staged.values()
        )

    def add_stage(self, record: StageRecord) -> None:
        self._staged[record.stage] = record

    def drop_stages(self, stages: Iterable[str]) -> None:
        for stage in stages:
            self._staged.pop(stage, None)

    def put_document(
        self,
        record: DocumentRecord,
        *,
        counted_in: StageStatistics | None,
        counted_out: StageStatistics | None,
    ) -> None:
        """Publishes a new document record.

        Args:
            counted_in: statistics of the staging that is searched from now on; None after a withdrawal.
            counted_out: statistics of the staging that was searched; None when there was none.
        """
        previous = self._documents.get(record.document_id)
        if counted_out is not None and previous is not None and previous.stage:
            self._statistics.remove(self._staged[previous.stage].metadata, counted_out)
        if counted_in is not None and record.stage:
            self._statistics.add(self._staged[record.stage].metadata, counted_in)
        self._documents[record.document_id] = record
        self._publish()

    def active_documents(self) -> Counter[str]:
        """Documents that are searched, by topic."""
        return Counter(record.metadata.topic for record in self._snapshot.active.values())

    def _publish(self) -> None:
        active = {
            document_id: self._staged[record.stage]
            for document_id, record in self._documents.items()
            if record.stage
        }
        newest = max(self._documents.values(), key=lambda record: record.sequence, default=None)
        self._snapshot = Snapshot.of(
            active, newest.sequence if newest else 0, newest.changed_at if newest else None
        )


def _languages(documents: Iterable[Metadata]) -> dict[str, Sequence[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for metadata in documents:
        found[metadata.topic].add(primary_language(metadata.language))
    return {topic: sorted(languages) for topic, languages in found.items()}
