"""What must hold of everything that is shown, whatever a generator wrote."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from benchmarks.fuzz_validator.outputs import OTHER_IDS, SENT, Case
from gateway.answering.schema import AnswerFormatError, parse_answer
from gateway.lookalikes import skeleton
from gateway.validation import ValidatedAnswer, ValidationPolicy, validate

_FORBIDDEN = re.compile(r"<\s*(?:script|img)|\bevil\.example|javascript:|<\|", re.IGNORECASE)


def run(case: Case) -> tuple[ValidatedAnswer | None, list[str]]:
    """The validated answer, None where the output is refused as a whole, and every rule that it breaks."""
    try:
        parsed = parse_answer(case.raw)
    except AnswerFormatError as exc:
        return None, ["the error repeats the output"] if len(str(exc)) > 300 else []
    answer = validate(parsed, SENT, ValidationPolicy(), case.question)
    return answer, violations(answer)


def violations(answer: ValidatedAnswer) -> list[str]:
    """Rules that an answer over SENT breaks."""
    found: list[str] = []
    for statement in answer.statements:
        if not statement.citations:
            found.append("a statement without citation")
        for citation in statement.citations:
            if citation.id not in SENT:
                found.append("a citation of a passage that was not sent")
            elif (
                citation.quote != SENT[citation.id].text[citation.start : citation.end]
                or not citation.quote.strip()
            ):
                found.append("a quotation that does not stand in its passage")
    if any(id_ not in SENT for conflict in answer.conflicts for id_ in conflict.citation_ids):
        found.append("a contradiction of a passage that was not sent")
    texts = [statement.text for statement in answer.statements]
    if not all(text.strip() for text in texts):
        found.append("a statement without text")
    for text in (*texts, answer.missing, *(conflict.description for conflict in answer.conflicts)):
        plain = skeleton(text).casefold()
        if any(id_ in plain for id_ in (*SENT, *OTHER_IDS)) or re.search(
            r"(?<![0-9a-z])(?=[a-f]*\d)[0-9a-f]{16,}", plain
        ):
            found.append("an id in a text")
        if _FORBIDDEN.search(unicodedata.normalize("NFKC", text)):
            found.append("markup or an address in a text")
        if any(unicodedata.category(character) in ("Cc", "Cf", "Cs") for character in text):
            found.append("an invisible character in a text")
    return found


def count(case: Case, counts: Counter[str]) -> list[str]:
    """Runs a case, adds to the counts, and returns the rules that it breaks."""
    answer, broken = run(case)
    counts["outputs"] += 1
    if answer is None:
        counts["refused as a whole"] += 1
        return broken
    counts["statements shown"] += answer.counts.statements_kept
    counts["citations shown"] += sum(len(statement.citations) for statement in answer.statements)
    counts["citations that resolve"] += sum(
        citation.id in SENT and SENT[citation.id].text[citation.start : citation.end] == citation.quote
        for statement in answer.statements
        for citation in statement.citations
    )
    for name in (
        "citations_unknown",
        "citations_misquoted",
        "statements_uncited",
        "statements_unsupported_number",
        "statements_other_language",
        "statements_unsafe",
        "statements_flagged",
    ):
        counts[name] += getattr(answer.counts, name)
    counts["answers with nothing left"] += not answer.statements
    for rule in broken:
        counts[f"BROKEN: {rule}"] += 1
    return broken
