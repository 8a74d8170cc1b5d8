"""Maps answers, notices and versions to protobuf messages. No decisions here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gateway.messages import ranked_parents_to, timestamp_to
from gateway.model import (
    AbstentionReason,
    Answer,
    AnswerEvent,
    ContradictingPlace,
    Contradiction,
    Newer,
    Notice,
    NoticeKind,
    Outcome,
    PromptMessage,
    Sources,
    Versions,
)
from gateway.validation import StatementFlag, ValidatedStatement, ValidationCounts
from radref import __version__
from radref.api.gateway.v1 import answer_pb2, gateway_pb2

OUTCOMES_TO_PROTO = {
    Outcome.ANSWERED: answer_pb2.OUTCOME_ANSWERED,
    Outcome.PARTIALLY_ANSWERED: answer_pb2.OUTCOME_PARTIALLY_ANSWERED,
    Outcome.ABSTAINED: answer_pb2.OUTCOME_ABSTAINED,
}
ABSTENTIONS_TO_PROTO = {
    AbstentionReason.INSUFFICIENT_EVIDENCE: answer_pb2.ABSTENTION_REASON_INSUFFICIENT_EVIDENCE,
    AbstentionReason.NO_VALID_CITATION: answer_pb2.ABSTENTION_REASON_NO_VALID_CITATION,
    AbstentionReason.CONFLICT: answer_pb2.ABSTENTION_REASON_CONFLICT,
    AbstentionReason.OUT_OF_SCOPE: answer_pb2.ABSTENTION_REASON_OUT_OF_SCOPE,
}
_NOTICES = {
    NoticeKind.MISSING_INFORMATION: answer_pb2.NOTICE_KIND_MISSING_INFORMATION,
    NoticeKind.DEGRADED_SEARCH: answer_pb2.NOTICE_KIND_DEGRADED_SEARCH,
    NoticeKind.CONTRADICTION: answer_pb2.NOTICE_KIND_CONTRADICTION,
    NoticeKind.CONTEXT_TRUNCATED: answer_pb2.NOTICE_KIND_CONTEXT_TRUNCATED,
    NoticeKind.NOT_IN_FORCE: answer_pb2.NOTICE_KIND_NOT_IN_FORCE,
    NoticeKind.PREGNANCY_NOT_STATED: answer_pb2.NOTICE_KIND_PREGNANCY_NOT_STATED,
    NoticeKind.EMERGENCY_FEATURE: answer_pb2.NOTICE_KIND_EMERGENCY_FEATURE,
    NoticeKind.ANOTHER_VARIANT_FITS: answer_pb2.NOTICE_KIND_ANOTHER_VARIANT_FITS,
}
_NEWER = {
    Newer.UNKNOWN: answer_pb2.NEWER_PLACE_UNSPECIFIED,
    Newer.FIRST: answer_pb2.NEWER_PLACE_FIRST,
    Newer.SECOND: answer_pb2.NEWER_PLACE_SECOND,
}
_FLAGS = {
    StatementFlag.NEGATION_MISSING: answer_pb2.STATEMENT_FLAG_NEGATION_MISSING,
    StatementFlag.OTHER_LANGUAGE: answer_pb2.STATEMENT_FLAG_OTHER_LANGUAGE,
}


def answer_to(
    question: str, answer: Answer, request_id: str, *, want_prompt: bool
) -> gateway_pb2.GenerateResponse:
    end = _end_to(answer)
    return gateway_pb2.GenerateResponse(
        query=question,
        prompt=prompt_to(answer.messages) if want_prompt else (),
        ranked_parents=ranked_parents_to(answer.parents),
        outcome=end.outcome,
        statements=[_statement_to(statement) for statement in answer.statements],
        abstention=end.abstention if end.HasField("abstention") else None,
        notices=end.notices,
        validation=end.validation,
        timings=end.timings,
        request_id=request_id,
        versions=end.versions,
        usage=end.usage,
    )


def answer_event_to(event: AnswerEvent, request_id: str) -> gateway_pb2.StreamGenerateResponse:
    """One message of a streamed answer."""
    match event:
        case Sources():
            sources = gateway_pb2.StreamSources(
                ranked_parents=ranked_parents_to(event.parents), request_id=request_id
            )
            return gateway_pb2.StreamGenerateResponse(sources=sources)
        case ValidatedStatement():
            return gateway_pb2.StreamGenerateResponse(statement=_statement_to(event))
        case Answer():
            return gateway_pb2.StreamGenerateResponse(end=_end_to(event))


def _end_to(answer: Answer) -> gateway_pb2.StreamEnd:
    end = gateway_pb2.StreamEnd(
        outcome=OUTCOMES_TO_PROTO[answer.outcome],
        notices=notices_to(answer.notices),
        validation=counts_to(answer.validation),
        timings=timings_to(answer.timings),
        versions=versions_to(answer.versions),
        usage=answer_pb2.TokenUsage(
            prompt_tokens=answer.prompt_tokens, completion_tokens=answer.completion_tokens
        ),
    )
    if answer.abstention is not None:
        end.abstention.reason = ABSTENTIONS_TO_PROTO[answer.abstention.reason]
        end.abstention.message = answer.abstention.message
    return end


def _statement_to(statement: ValidatedStatement) -> answer_pb2.Statement:
    return answer_pb2.Statement(
        text=statement.text,
        citations=[
            answer_pb2.Citation(
                citation_id=citation.id,
                start=citation.start,
                end=citation.end,
                quote=citation.quote,
                section_path=citation.section_path,
            )
            for citation in statement.citations
        ],
        flags=[_FLAGS[flag] for flag in statement.flags],
    )


def counts_to(counts: ValidationCounts) -> answer_pb2.ValidationCounts:
    return answer_pb2.ValidationCounts(
        citations_valid=counts.citations_valid,
        citations_unknown=counts.citations_unknown,
        citations_misquoted=counts.citations_misquoted,
        statements_kept=counts.statements_kept,
        statements_uncited=counts.statements_uncited,
        statements_unsupported_number=counts.statements_unsupported_number,
        statements_flagged=counts.statements_flagged,
        statements_other_language=counts.statements_other_language,
        statements_unsafe=counts.statements_unsafe,
    )


def prompt_to(messages: Sequence[PromptMessage]) -> list[answer_pb2.PromptPart]:
    return [answer_pb2.PromptPart(role=message.role, content=message.content) for message in messages]


def notices_to(notices: Iterable[Notice]) -> list[answer_pb2.Notice]:
    return [
        answer_pb2.Notice(
            kind=_NOTICES[n.kind],
            message=n.message,
            citation_ids=n.citation_ids,
            contradiction=_contradiction_to(n.contradiction) if n.contradiction else None,
        )
        for n in notices
    ]


def _contradiction_to(contradiction: Contradiction) -> answer_pb2.Contradiction:
    return answer_pb2.Contradiction(
        first=_contradicting_place_to(contradiction.first),
        second=_contradicting_place_to(contradiction.second),
        newer=_NEWER[contradiction.newer],
    )


def _contradicting_place_to(place: ContradictingPlace) -> answer_pb2.ContradictingPlace:
    return answer_pb2.ContradictingPlace(
        citation_id=place.citation_id,
        start=place.start,
        end=place.end,
        quote=place.quote,
        value=place.value,
        section_path=place.section_path,
        document_id=place.document_id,
        title=place.title,
        version=place.version,
        year=place.year,
        effective_from=timestamp_to(place.effective_from),
        authority=place.authority,
    )


def timings_to(timings: Mapping[str, float]) -> list[answer_pb2.StageTiming]:
    return [answer_pb2.StageTiming(stage=stage, milliseconds=ms) for stage, ms in timings.items()]


def versions_to(versions: Versions) -> answer_pb2.Versions:
    return answer_pb2.Versions(
        prompt=versions.prompt,
        knowledge_base=versions.knowledge_base,
        embedder=versions.embedder,
        reranker=versions.reranker,
        generator=versions.generator,
        radref=__version__,
    )
