"""How an answer ended: answered, in part, or not, and what the user is told about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from gateway import wording
from gateway.answering.drafting import DraftEnd
from gateway.model import Abstention, AbstentionReason, Notice, NoticeKind, Outcome
from gateway.validation import ValidatedAnswer

# What a model says is missing is its own text, which no citation supports. Characters.
_LONGEST_MISSING: Final = 300
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_NOT_PLAIN: Final = re.compile(r"https?://|www\.|[<>\[\]{}`|]|[0-9a-f]{20}")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The end of an answer. `abstention` is set if and only if the outcome is ABSTAINED."""

    outcome: Outcome
    notices: tuple[Notice, ...]
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
    notices = tuple(
        Notice(
            NoticeKind.CONTRADICTION,
            conflict.description or wording.contradiction(question),
            conflict.citation_ids,
        )
        for conflict in validated.conflicts
    )
    missing = plain_missing(question, validated.missing)
    if not validated.statements:
        return Verdict(
            Outcome.ABSTAINED, notices, _abstention(question, validated, end, missing, lacks_what_is_asked)
        )
    if not end.readable:
        broken = Notice(NoticeKind.MISSING_INFORMATION, wording.broke_off(question))
        return Verdict(Outcome.PARTIALLY_ANSWERED, (*notices, broken))
    if validated.insufficient:
        absent = Notice(NoticeKind.MISSING_INFORMATION, missing or wording.incomplete(question))
        return Verdict(Outcome.PARTIALLY_ANSWERED, (*notices, absent))
    return Verdict(Outcome.ANSWERED, notices)


def _abstention(
    question: str, validated: ValidatedAnswer, end: DraftEnd, missing: str, lacks_what_is_asked: bool
) -> Abstention:
    counts = validated.counts
    dropped = counts.statements_uncited + counts.statements_unsupported_number
    if not end.readable:
        return Abstention(AbstentionReason.NO_VALID_CITATION, wording.unreadable(question))
    if validated.conflicts and not dropped:
        return Abstention(AbstentionReason.CONFLICT, wording.conflict(question))
    if lacks_what_is_asked or not (dropped or validated.refused):
        message = missing or wording.nothing_supported(question)
        return Abstention(AbstentionReason.INSUFFICIENT_EVIDENCE, message)
    return Abstention(AbstentionReason.NO_VALID_CITATION, wording.nothing_valid(question))


def plain_missing(question: str, missing: str) -> str:
    """What the generator says is missing, if it can be shown unchecked: short, plain, without any number that
    is not the question's own. Else ""."""
    text = " ".join(missing.split())
    if len(text) > _LONGEST_MISSING or _NOT_PLAIN.search(text):
        return ""
    return text if set(_NUMBER.findall(text)) <= set(_NUMBER.findall(question)) else ""
