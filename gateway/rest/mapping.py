"""Maps the gateway's model to JSON models and back. No decisions here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gateway import model
from gateway.model import Sources
from gateway.rest.models import answers, passages, requests
from gateway.validation import StatementFlag, ValidatedStatement
from radref import __version__

_FLAGS: dict[StatementFlag, answers.Flag] = {
    StatementFlag.NEGATION_MISSING: "negation_missing",
    StatementFlag.OTHER_LANGUAGE: "other_language",
}


def filters_from(body: requests.SearchFilters) -> model.Filters:
    return model.Filters(
        topics=tuple(body.topics),
        languages=tuple(body.languages),
        source_categories=tuple(body.source_categories),
        document_ids=tuple(body.document_ids),
        year_from=body.year_from or 0,
        year_to=body.year_to or 0,
    )


def search_query_from(body: requests.SearchRequest) -> model.SearchQuery:
    limits = body.limits
    return model.SearchQuery(
        text=body.query,
        legs=tuple(model.Leg(leg) for leg in body.legs),
        rerank=model.RerankMode(body.rerank),
        limits=model.Limits(limits.per_collection or 0, limits.candidates or 0, limits.parents or 0),
        filters=filters_from(body.filters),
        want_candidates=body.want_candidates,
    )


def search_to(question: str, found: model.SearchResult, request_id: str) -> answers.SearchResponse:
    return answers.SearchResponse(
        query=question,
        ranked_parents=_parents(found.parents),
        candidates=[
            passages.RankedCandidate(
                citation_id=candidate.citation_id, document_id=candidate.document_id, hit=_hit(candidate.hit)
            )
            for candidate in found.candidates
        ],
        signals=answers.QuerySignals.model_validate(found.signals),
        notices=notices_to(found.notices),
        timings=timings_to(found.timings),
        request_id=request_id,
        versions=versions_to(found.versions),
    )


def prompt_to(question: str, result: model.PromptResult, request_id: str) -> answers.PromptResponse:
    return answers.PromptResponse(
        query=question,
        prompt=[answers.PromptPart.model_validate(message) for message in result.messages],
        ranked_parents=_parents(result.parents),
        notices=notices_to(result.notices),
        timings=timings_to(result.timings),
        request_id=request_id,
        versions=versions_to(result.versions),
    )


def answer_to(
    question: str, answer: model.Answer, request_id: str, *, want_prompt: bool
) -> answers.GenerateResponse:
    end = end_to(answer)
    messages = answer.messages if want_prompt else ()
    return answers.GenerateResponse(
        query=question,
        prompt=[answers.PromptPart.model_validate(message) for message in messages],
        ranked_parents=_parents(answer.parents),
        outcome=end.outcome,
        statements=[statement_to(statement) for statement in answer.statements],
        abstention=end.abstention,
        notices=end.notices,
        validation=end.validation,
        timings=end.timings,
        request_id=request_id,
        versions=end.versions,
        usage=end.usage,
    )


def sources_to(sources: Sources, request_id: str) -> answers.StreamSources:
    return answers.StreamSources(ranked_parents=_parents(sources.parents), request_id=request_id)


def statement_to(statement: ValidatedStatement) -> answers.Statement:
    return answers.Statement(
        text=statement.text,
        citations=[
            answers.Citation(
                citation_id=citation.id,
                start=citation.start,
                end=citation.end,
                quote=citation.quote,
                section_path=list(citation.section_path),
            )
            for citation in statement.citations
        ],
        flags=[_FLAGS[flag] for flag in statement.flags],
    )


def end_to(answer: model.Answer) -> answers.StreamEnd:
    return answers.StreamEnd(
        outcome=answer.outcome.value,
        abstention=None
        if answer.abstention is None
        else answers.Abstention.model_validate(answer.abstention),
        notices=notices_to(answer.notices),
        validation=answers.ValidationCounts.model_validate(answer.validation),
        timings=timings_to(answer.timings),
        versions=versions_to(answer.versions),
        usage=answers.TokenUsage.model_validate(answer),
    )


def source_to(source: model.Source) -> passages.GetSourceResponse:
    return passages.GetSourceResponse(
        passage=_passage(source.passage), state=source.state.value, ended_at=source.ended_at
    )


def _passage(passage: model.Passage) -> passages.Passage:
    pages = passage.pages
    return passages.Passage(
        citation_id=passage.citation_id,
        document_id=passage.document_id,
        version=passage.version,
        ordinal=passage.ordinal,
        text=passage.text,
        section_path=list(passage.section_path),
        pages=passages.PageRange(first=pages[0], last=pages[1]) if pages else None,
        metadata=passages.DocumentMetadata.model_validate(passage.document),
        validity=passage.validity.value,
        superseded_by=passage.superseded_by,
        superseded_at=passage.superseded_at,
    )


def _hit(hit: model.ChildHit) -> passages.ChildHit:
    return passages.ChildHit(
        ordinal=hit.ordinal,
        span=passages.Span(start=hit.start, end=hit.end),
        rrf_score=hit.rrf_score,
        dense_score=hit.dense_score,
        bm25_score=hit.bm25_score,
        section_path=list(hit.section_path),
    )


def _parents(parents: Iterable[model.RankedPassage]) -> list[passages.RankedParent]:
    return [
        passages.RankedParent(
            passage=_passage(parent.passage),
            rank=rank,
            rrf_score=parent.rrf_score,
            rerank_score=parent.rerank_score,
            children=[_hit(child) for child in parent.children],
            duplicate_document_ids=list(parent.duplicate_document_ids),
            dense_score=parent.dense_score,
            bm25_score=parent.bm25_score,
        )
        for rank, parent in enumerate(parents, start=1)
    ]


def notices_to(notices: Iterable[model.Notice]) -> list[answers.Notice]:
    return [answers.Notice.model_validate(notice) for notice in notices]


def timings_to(timings: Mapping[str, float]) -> list[answers.StageTiming]:
    return [answers.StageTiming(stage=stage, milliseconds=ms) for stage, ms in timings.items()]


def versions_to(versions: model.Versions) -> answers.Versions:
    return answers.Versions(
        prompt=versions.prompt,
        knowledge_base=versions.knowledge_base,
        embedder=versions.embedder,
        reranker=versions.reranker,
        generator=versions.generator,
        radref=__version__,
    )
