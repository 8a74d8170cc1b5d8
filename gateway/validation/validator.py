"""The citation validator of DESIGN section 7.4: deterministic, knows no model, trusts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, product

from gateway.answering.schema import ParsedAnswer, ParsedConflict, ParsedStatement
from gateway.validation.language import in_other_script, is_composed_of
from gateway.validation.negation import lacks_negation
from gateway.validation.numbers import Support, read_claims, read_support, unsupported
from gateway.validation.passage import PassageText, PassageView
from gateway.validation.policy import Action, ValidationPolicy
from gateway.validation.quantities import is_cyrillic
from gateway.validation.quotes import Span, locate
from gateway.validation.result import (
    StatementFlag,
    ValidatedAnswer,
    ValidatedCitation,
    ValidatedConflict,
    ValidatedStatement,
    ValidationCounts,
)
from gateway.validation.statement_text import MAX_REMARK, MAX_STATEMENT, foreign_addresses, shown_text

# A quotation may stand several times in a passage; so many choices of places are tried for a statement.
_MAX_CHOICES = 64


@dataclass(frozen=True, slots=True)
class StatementVerdict:
    """What became of one statement: `statement` is None when it may not be shown.

    `refused`: the policy demands to abstain from the whole answer.
    """

    statement: ValidatedStatement | None
    counts: ValidationCounts
    refused: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    id: str
    view: PassageView
    span: Span


class CitationValidator:
    """Checks statements against the passages retrieved for one question.

    For a streamed answer call `check` per statement; `validate` does a whole answer. Passages are prepared
    once and only when cited.
    """

    def __init__(
        self, passages: Mapping[str, PassageText], policy: ValidationPolicy, question: str = ""
    ) -> None:
        """`question` tells the language of the answer; "" = any."""
        self._views = {id_: PassageView(passage) for id_, passage in passages.items()}
        self._policy = policy
        self._question = question

    def check(self, statement: ParsedStatement) -> StatementVerdict:
        """Strips citations that do not hold, then drops, flags or refuses the statement."""
        found, unknown, misquoted = self._locate(statement)
        counts = ValidationCounts(citations_unknown=unknown, citations_misquoted=misquoted)
        if not found or not statement.text.strip():
            return StatementVerdict(None, counts + ValidationCounts(statements_uncited=1))
        # Everything below reads the text as it would be shown.
        text = shown_text(statement.text)
        if not text or len(statement.text) > MAX_STATEMENT:
            counts += ValidationCounts(citations_valid=len(found), statements_unsafe=1)
            return StatementVerdict(None, counts)
        places = self._supporting_places(text, found)
        if places is None:
            counts += ValidationCounts(citations_valid=len(found), statements_unsupported_number=1)
            return StatementVerdict(None, counts, self._policy.unsupported_number is Action.ABSTAIN)
        citations = {self._citation(place): None for place in places}
        counts += ValidationCounts(citations_valid=len(citations))
        if foreign_addresses(text, (citation.quote for citation in citations)):
            return StatementVerdict(None, counts + ValidationCounts(statements_unsafe=1))
        flags: list[StatementFlag] = []
        if any(lacks_negation(text, citation.quote) for citation in citations):
            counts += ValidationCounts(statements_flagged=1)
            if self._policy.missing_negation is not Action.FLAG:
                return StatementVerdict(None, counts, self._policy.missing_negation is Action.ABSTAIN)
            flags.append(StatementFlag.NEGATION_MISSING)
        if in_other_script(text, self._question) and not _is_quotation(text, places):
            counts += ValidationCounts(statements_other_language=1)
            if self._policy.other_language is not Action.FLAG:
                return StatementVerdict(None, counts, self._policy.other_language is Action.ABSTAIN)
            flags.append(StatementFlag.OTHER_LANGUAGE)
        kept = ValidatedStatement(text, tuple(citations), tuple(flags))
        return StatementVerdict(kept, counts + ValidationCounts(statements_kept=1))

    def check_conflict(self, conflict: ParsedConflict) -> ValidatedConflict | None:
        """The contradiction without unknown ids; None when no id is left."""
        ids = tuple(dict.fromkeys(id_ for id_ in conflict.citation_ids if id_ in self._views))
        if not ids:
            return None
        passages = [self._views[id_].passage for id_ in ids]
        description = shown_text(conflict.description)
        wrong = (
            len(description) > MAX_REMARK
            or foreign_addresses(description, (passage.text for passage in passages))
            or unsupported(read_claims(description), [_whole_passage(passage) for passage in passages])
        )
        return ValidatedConflict(ids, "" if wrong else description)

    def check_missing(self, missing: str) -> str:
        """What the generator misses, fit to be shown; "" when it is too long or tells something itself: an
        address, or a measure that the question does not name. Nothing cites it, so it may state nothing."""
        text = shown_text(missing)
        question = read_support(self._question, "", decimal_comma=is_cyrillic(self._question))
        measures = [claim for claim in read_claims(text) if claim.unit not in ("", "ref", "code")]
        if len(text) > MAX_REMARK or foreign_addresses(text, (self._question,)):
            return ""
        return "" if unsupported(measures, [question]) else text

    def _locate(self, statement: ParsedStatement) -> tuple[list[list[_Place]], int, int]:
        found: list[list[_Place]] = []
        unknown = misquoted = 0
        for citation in statement.citations:
            view = self._views.get(citation.id)
            if view is None:
                unknown += 1
                continue
            spans = locate(citation.quote, view.normalised, self._policy)
            if spans:
                found.append([_Place(citation.id, view, span) for span in spans])
            else:
                misquoted += 1
        return found, unknown, misquoted

    def _supporting_places(self, text: str, found: list[list[_Place]]) -> tuple[_Place, ...] | None:
        """One place for each citation such that all numbers are held; None when there is no such choice."""
        claims = read_claims(text)
        if not claims:
            return tuple(places[0] for places in found)
        tried = [places[:_MAX_CHOICES] for places in found]
        supports = {place: _support(place) for places in tried for place in places}
        for places in islice(product(*tried), _MAX_CHOICES):
            if not unsupported(claims, [supports[place] for place in places]):
                return places
        return None

    def _citation(self, place: _Place) -> ValidatedCitation:
        start, end = place.span
        quote = place.view.passage.text[start:end]
        return ValidatedCitation(place.id, start, end, quote, place.view.heading_path(start))


def validate(
    answer: ParsedAnswer, passages: Mapping[str, PassageText], policy: ValidationPolicy, question: str = ""
) -> ValidatedAnswer:
    """Checks a whole answer.

    Every citation of the result is one of `passages` and quotes it exactly; every statement has at least one.

    Args:
        question: tells the language of the answer; "" = any.
    """
    validator = CitationValidator(passages, policy, question)
    verdicts = [validator.check(statement) for statement in answer.statements]
    counts = sum((verdict.counts for verdict in verdicts), ValidationCounts())
    refused = any(verdict.refused for verdict in verdicts)
    if refused:
        kept: tuple[ValidatedStatement, ...] = ()
    else:
        kept = tuple(verdict.statement for verdict in verdicts if verdict.statement is not None)
    conflicts = (validator.check_conflict(conflict) for conflict in answer.conflicts)
    return ValidatedAnswer(
        statements=kept,
        insufficient=answer.insufficient,
        missing=validator.check_missing(answer.missing),
        conflicts=tuple(conflict for conflict in conflicts if conflict is not None),
        counts=counts,
        refused=refused,
    )


def _is_quotation(text: str, places: tuple[_Place, ...]) -> bool:
    """Whether the text is put together from its quotations and what governs them."""
    sources: list[str] = []
    for place in places:
        start, end = place.span
        sources += (place.view.passage.text[start:end], place.view.context(start, end))
    return is_composed_of(text, "\n\n".join(sources))


def _support(place: _Place) -> Support:
    start, end = place.span
    passage = place.view.passage
    context = place.view.context(start, end)
    return read_support(passage.text[start:end], context, decimal_comma=is_cyrillic(passage.text))


def _whole_passage(passage: PassageText) -> Support:
    path = "\n\n".join((passage.title, *passage.section_path))
    return read_support(passage.text, path, decimal_comma=is_cyrillic(passage.text))
