"""The gate at the level of the answer: does a statement hold what the question asks for?

A passage about the subject is not yet an answer: "how many days" wants a number of days. Asked of every
generator's statements, after the validator; see `radref.asked` for the kinds of answer that are told apart.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.validation import ValidatedStatement
from radref.asked import holds, read_question


def gate_for(question: str) -> Callable[[ValidatedStatement], bool]:
    """What tells whether a statement, with its quotations, holds one of the things the question asks for.

    Everything passes where the question asks for nothing that can be told apart.
    """
    kinds = read_question(question).kinds

    def passes(statement: ValidatedStatement) -> bool:
        if not kinds:
            return True
        quotes = [citation.quote for citation in statement.citations]
        headings = [heading for citation in statement.citations for heading in citation.section_path]
        text = "\n".join((statement.text, *quotes))
        return any(holds(text, "\n".join((*quotes, *headings)), kind) for kind in kinds)

    return passes
