"""Citation validator: the program that decides which statements of a generator may be shown."""

from gateway.validation.passage import PassageText
from gateway.validation.policy import Action, ValidationPolicy
from gateway.validation.result import (
    StatementFlag,
    ValidatedAnswer,
    ValidatedCitation,
    ValidatedConflict,
    ValidatedStatement,
    ValidationCounts,
)
from gateway.validation.validator import CitationValidator, validate

__all__ = [
    "Action",
    "CitationValidator",
    "PassageText",
    "StatementFlag",
    "ValidatedAnswer",
    "ValidatedCitation",
    "ValidatedConflict",
    "ValidatedStatement",
    "ValidationCounts",
    "ValidationPolicy",
    "validate",
]
