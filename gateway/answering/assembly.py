"""Puts an answer together from a draft: checks each statement and says when it may be shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.answering.drafting import DraftEnd
from gateway.answering.schema import ParsedStatement
from gateway.model import RankedPassage
from gateway.validation import (
    Action,
    CitationValidator,
    PassageText,
    ValidatedAnswer,
    ValidatedStatement,
    ValidationCounts,
    ValidationPolicy,
)

HoldsWhatIsAsked = Callable[[ValidatedStatement], bool]


class Assembly:
    """One answer in the making.

    A statement is shown once nothing can take the whole answer back any more: at once as a rule; after the
    last one where the policy may refuse an answer for a single statement. Statements that do not hold what
    the question asks for wait for one that does, since without it there is no answer.

    Args:
        question: as accepted; tells the language of the answer.
        passages: those the generator has seen; nothing else can be cited.
        policy: of the validator.
        holds_what_is_asked: the gate at the level of the answer, for one statement.
    """

    def __init__(
        self,
        question: str,
        passages: Sequence[RankedPassage],
        policy: ValidationPolicy,
        holds_what_is_asked: HoldsWhatIsAsked,
    ) -> None:
        self._validator = CitationValidator(
            {parent.passage.citation_id: _text_of(parent) for parent in passages}, policy, question
        )
        self._holds_what_is_asked = holds_what_is_asked
        self._until_the_end = Action.ABSTAIN in (
            policy.unsupported_number,
            policy.missing_negation,
            policy.other_language,
        )
        self._kept: list[ValidatedStatement] = []
        self._waiting: list[ValidatedStatement] = []
        self._counts = ValidationCounts()
        self._refused = False
        self._holds = False

    def add(self, statement: ParsedStatement) -> list[ValidatedStatement]:
        """Checks the next statement; returns those that may be shown now, in order."""
        verdict = self._validator.check(statement)
        self._counts += verdict.counts
        self._refused = self._refused or verdict.refused
        if verdict.statement is None:
            return []
        self._kept.append(verdict.statement)
        self._waiting.append(verdict.statement)
        self._holds = self._holds or self._holds_what_is_asked(verdict.statement)
        return [] if self._until_the_end or not self._holds else self._released()

    def end(self) -> list[ValidatedStatement]:
        """After the last statement: those that waited and may be shown."""
        return self._released() if self._holds and not self._refused else []

    @property
    def lacks_what_is_asked(self) -> bool:
        """Statements passed the validator, and none of them holds what the question asks for."""
        return bool(self._kept) and not self._holds

    def result(self, end: DraftEnd) -> ValidatedAnswer:
        """The whole answer. Statements are those that were shown."""
        shown = () if self._refused or not self._holds else tuple(self._kept)
        conflicts = (self._validator.check_conflict(conflict) for conflict in end.conflicts)
        return ValidatedAnswer(
            statements=shown,
            insufficient=end.insufficient,
            missing=self._validator.check_missing(end.missing),
            conflicts=tuple(conflict for conflict in conflicts if conflict is not None),
            counts=self._counts,
            refused=self._refused,
        )

    def _released(self) -> list[ValidatedStatement]:
        released, self._waiting = self._waiting, []
        return released


def _text_of(parent: RankedPassage) -> PassageText:
    passage = parent.passage
    return PassageText(text=passage.text, section_path=passage.section_path, title=passage.document.title)
