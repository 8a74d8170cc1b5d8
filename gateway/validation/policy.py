"""What the validator does with what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """FLAG lets the statement through, marked; DROP leaves it out; ABSTAIN gives up the whole answer."""

    FLAG = "flag"
    DROP = "drop"
    ABSTAIN = "abstain"


@dataclass(frozen=True, slots=True)
class ValidationPolicy:
    """Thresholds and actions.

    Attributes:
        min_quote_words: a quotation of fewer words supports nothing, unless it is a whole table cell or a
            whole line of the passage; 1-50. Two words is the least that can say something of something.
        min_quote_characters: letters and digits it must have, same exception; 1-1000. Six keep "T12 to L3"
            and rule out "of a".
        unsupported_number: what happens to a statement with a number that its quotations do not hold;
            DROP or ABSTAIN (there is no way to show a wrong number safely, so not FLAG).
        missing_negation: what happens to a statement that lacks its quotation's negation.
        other_language: what happens to a statement in another language than the question that is no quotation
            of a passage; scripts are compared, so Russian against English or German. A quotation in the
            passage's language always stays.

    Raises:
        ValueError: a value out of its range.
    """

    min_quote_words: int = 2
    min_quote_characters: int = 6
    unsupported_number: Action = Action.DROP
    missing_negation: Action = Action.FLAG
    other_language: Action = Action.FLAG

    def __post_init__(self) -> None:
        if not 1 <= self.min_quote_words <= 50:
            raise ValueError("min_quote_words must be 1-50")
        if not 1 <= self.min_quote_characters <= 1000:
            raise ValueError("min_quote_characters must be 1-1000")
        if self.unsupported_number is Action.FLAG:
            raise ValueError("unsupported_number must be drop or abstain")
