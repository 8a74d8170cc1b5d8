"""How an answer ended: answered, in part, or not, and what the user is told about it."""

from __future__ import annotations

from dataclasses import dataclass

from gateway import wording
from gateway.answering.drafting import DraftEnd
from gateway.model import Abstention, AbstentionReason, Notice, NoticeKind, Outcome
from gateway.validation import ValidatedAnswer


@dataclass(frozen=True, slots=True)
class Verdict:
    """The end of an answer. `abstention` is set if and only if the outcome is ABSTAINED."""

    outcome: Outcome
    notices: tuple[Notice, ...] = ()
    abstention: Abstention | None = None


def judge_answer(
    question: str, validated: ValidatedAnswer, end: DraftEnd, *, lacks_what_is_asked: bool
) -> Verdict:
    """The verdict on what the validator let through.

    Args:
        question: as accepted.
        validated: what may be shown.
        end: how the draft ended.
        lacks_what_is_asked: the validator passed statements, and none holds what the question asks for.
    """
    if not validated.statements:
        return Verdict(Outcome.ABSTAINED, (), _abstention(question, validated, end, lacks_what_is_asked))
    if not end.readable:
        broken = Notice(NoticeKind.MISSING_INFORMATION, wording.broke_off(question))
        return Verdict(Outcome.PARTIALLY_ANSWERED, (broken,))
    if validated.insufficient:
        absent = Notice(NoticeKind.MISSING_INFORMATION, validated.missing or wording.incomplete(question))
        return Verdict(Outcome.PARTIALLY_ANSWERED, (absent,))
    return Verdict(Outcome.ANSWERED)


def _abstention(
    question: str, validated: ValidatedAnswer, end: DraftEnd, lacks_what_is_asked: bool
) -> Abstention:
    counts = validated.counts
    dropped = (
        counts.statements_uncited
        + counts.statements_unsupported_number
        + counts.statements_other_language
        + counts.statements_unsafe
    )
    if not end.readable:
        return Abstention(AbstentionReason.NO_VALID_CITATION, wording.unreadable(question))
    if validated.conflicts and not dropped:
        return Abstention(AbstentionReason.CONFLICT, wording.conflict(question))
    if lacks_what_is_asked or not (dropped or validated.refused):
        message = validated.missing or wording.nothing_supported(question)
        return Abstention(AbstentionReason.INSUFFICIENT_EVIDENCE, message)
    return Abstention(AbstentionReason.NO_VALID_CITATION, wording.nothing_valid(question))
