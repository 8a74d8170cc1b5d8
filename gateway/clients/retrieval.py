"""Searching over retrieval.v1.RetrievalService."""

from __future__ import annotations

import grpc

from gateway.messages import LEGS_FROM_PROTO, LEGS_TO_PROTO, child_hit_from, filters_to, passage_from
from gateway.model import Candidate, FailedLeg, RankedPassage, Retrieved, SearchQuery, Signals
from radref.api.common.v1 import documents_pb2
from radref.api.retrieval.v1 import retrieval_pb2, retrieval_pb2_grpc
from radref.service.status import error_from_rpc

# Ten times the SLO of retrieval and reranking together: beyond it the store hangs.
TIMEOUT_SECONDS = 10.0


class RetrievalClient:
    """Implements gateway.ports.Searching."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = retrieval_pb2_grpc.RetrievalServiceStub(channel)

    async def retrieve(self, query: SearchQuery) -> Retrieved:
        request = retrieval_pb2.RetrieveRequest(
            query=query.text,
            legs=[LEGS_TO_PROTO[leg] for leg in query.legs],
            limits=documents_pb2.SearchLimits(
                per_collection=query.limits.per_collection,
                candidates=query.limits.candidates,
                parents=query.limits.parents,
            ),
            filters=filters_to(query.filters),
            want_candidates=query.want_candidates,
        )
        try:
            response = await self._stub.Retrieve(request, timeout=TIMEOUT_SECONDS)
        except grpc.aio.AioRpcError as exc:
            raise error_from_rpc(exc, backend="retrieval") from None
        signals = response.signals
        return Retrieved(
            parents=tuple(
                RankedPassage(
                    passage=passage_from(parent.passage),
                    rrf_score=parent.rrf_score,
                    children=tuple(child_hit_from(child) for child in parent.children),
                    duplicate_document_ids=tuple(parent.duplicate_document_ids),
                    dense_score=parent.dense_score if parent.HasField("dense_score") else None,
                    bm25_score=parent.bm25_score if parent.HasField("bm25_score") else None,
                )
                for parent in response.parents
            ),
            candidates=tuple(
                Candidate(candidate.citation_id, candidate.document_id, child_hit_from(candidate.hit))
                for candidate in response.candidates
            ),
            failed_legs=tuple(
                FailedLeg(LEGS_FROM_PROTO[report.leg], report.topic)
                for report in response.legs
                if not report.ok
            ),
            signals=Signals(
                best_dense=signals.best_dense if signals.HasField("best_dense") else None,
                best_bm25=signals.best_bm25 if signals.HasField("best_bm25") else None,
                term_coverage=signals.term_coverage,
                margin=signals.margin if signals.HasField("margin") else None,
                rare_term_coverage=signals.rare_term_coverage,
            ),
            embedder_fingerprint=response.embedder_fingerprint,
            index_version=response.index_version,
            timings={timing.stage: timing.milliseconds for timing in response.timings},
        )
