"""What the validator hands back; mirrors Statement, Citation and ValidationCounts of answer.proto."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StatementFlag(StrEnum):
    """Let through, but marked."""

    NEGATION_MISSING = "negation_missing"
    OTHER_LANGUAGE = "other_language"


@dataclass(frozen=True, slots=True)
class ValidatedCitation:
    """A citation that holds: `quote` is exactly the code points [start, end) of the passage `id`.

    `section_path` is the heading path at the quotation, outermost first.
    """

    id: str
    start: int
    end: int
    quote: str
    section_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ValidatedStatement:
    """A statement with at least one citation that holds."""

    text: str
    citations: tuple[ValidatedCitation, ...]
    flags: tuple[StatementFlag, ...] = ()


@dataclass(frozen=True, slots=True)
class ValidatedConflict:
    """A reported contradiction; every id is a passage of this question.

    `description` is "" when it held a number that none of those passages holds.
    """

    citation_ids: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True)
class ValidationCounts:
    """Fields as in radref.api.gateway.v1.ValidationCounts; all >= 0."""

    citations_valid: int = 0
    citations_unknown: int = 0
    citations_misquoted: int = 0
    statements_kept: int = 0
    statements_uncited: int = 0
    statements_unsupported_number: int = 0
    statements_flagged: int = 0
    statements_other_language: int = 0
    statements_unsafe: int = 0

    def __add__(self, other: ValidationCounts) -> ValidationCounts:
        return ValidationCounts(
            self.citations_valid + other.citations_valid,
            self.citations_unknown + other.citations_unknown,
            self.citations_misquoted + other.citations_misquoted,
            self.statements_kept + other.statements_kept,
            self.statements_uncited + other.statements_uncited,
            self.statements_unsupported_number + other.statements_unsupported_number,
            self.statements_flagged + other.statements_flagged,
            self.statements_other_language + other.statements_other_language,
            self.statements_unsafe + other.statements_unsafe,
        )


@dataclass(frozen=True, slots=True)
class ValidatedAnswer:
    """What may be shown.

    Attributes:
        statements: kept statements in the generator's order. None left = abstain.
        insufficient: as the generator said.
        missing: what it said is missing, "" when that may not be shown.
        conflicts: contradictions about passages of this question.
        counts: what was done to the generator's output.
        refused: the policy demands to abstain from the whole answer; `statements` is empty then.
    """

    statements: tuple[ValidatedStatement, ...]
    insufficient: bool
    missing: str
    conflicts: tuple[ValidatedConflict, ...]
    counts: ValidationCounts
    refused: bool = False
