"""What is learnt about a request while it is worked on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gateway.consult.result import Consultation
from gateway.model import (
    AbstentionReason,
    Answer,
    Outcome,
    PromptResult,
    RankedPassage,
    SearchResult,
    Versions,
)


@dataclass(slots=True)
class Note:
    """Filled by whoever serves the request; fields as in AuditRecord."""

    citation_ids: tuple[str, ...] = ()
    uncited_ids: tuple[str, ...] = ()
    outcome: Outcome | None = None
    abstention_reason: AbstentionReason | None = None
    generator: str = ""
    knowledge_base_version: int = 0

    def found(self, result: SearchResult | PromptResult) -> None:
        """Passages were returned, nothing was answered."""
        self.citation_ids = tuple(_ids(result.parents))
        self._versions(result.versions)

    def answered(self, answer: Answer) -> None:
        """An answer or an abstention."""
        cited = (citation.id for statement in answer.statements for citation in statement.citations)
        self.citation_ids = tuple(dict.fromkeys(cited))
        self.uncited_ids = tuple(id_ for id_ in _ids(answer.parents) if id_ not in self.citation_ids)
        self.outcome = answer.outcome
        self.abstention_reason = answer.abstention.reason if answer.abstention else None
        self._versions(answer.versions)

    def consulted(self, result: Consultation) -> None:
        """A recommendation or an abstention; the other candidates were looked at and not cited."""
        cited = result.chosen.citation_id if result.chosen else None
        self.citation_ids = (cited,) if cited else ()
        looked_at = (candidate.cited.citation_id for candidate in result.candidates)
        self.uncited_ids = tuple(id_ for id_ in dict.fromkeys(looked_at) if id_ != cited)
        self.outcome = result.outcome
        self.abstention_reason = result.abstention.reason if result.abstention else None
        self._versions(result.versions)

    def _versions(self, versions: Versions) -> None:
        self.generator = versions.generator
        self.knowledge_base_version = versions.knowledge_base


def _ids(parents: Iterable[RankedPassage]) -> Iterable[str]:
    return dict.fromkeys(parent.passage.citation_id for parent in parents)
