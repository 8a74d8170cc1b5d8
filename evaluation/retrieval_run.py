"""Runs the queries of a retrieval data set through Search, leg by leg."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evaluation.bounded import for_each
from evaluation.datasets import CorpusDocument, RetrievalDataset
from evaluation.failures import ErrorBudget
from evaluation.ingest_corpus import Upload
from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.client import RadrefClient
from radref.errors import RadrefError

# recall@100 needs 100 parents. Twice as many children a leg, because several may share a parent.
LIMITS = documents_pb2.SearchLimits(per_collection=200, candidates=400, parents=100)
_ID_FORM = re.compile(r"[A-Za-z0-9._-]{1,128}")


class Leg(StrEnum):
    """A way of searching that is measured by itself."""

    BM25 = "bm25"
    DENSE = "dense"
    HYBRID = "hybrid"
    HYBRID_RERANK = "hybrid+rerank"


_SEARCHED = {
    Leg.BM25: (documents_pb2.SEARCH_LEG_BM25,),
    Leg.DENSE: (documents_pb2.SEARCH_LEG_DENSE,),
    Leg.HYBRID: (documents_pb2.SEARCH_LEG_DENSE, documents_pb2.SEARCH_LEG_BM25),
    Leg.HYBRID_RERANK: (documents_pb2.SEARCH_LEG_DENSE, documents_pb2.SEARCH_LEG_BM25),
}


@dataclass(frozen=True)
class LegRun:
    """What one leg found.

    `rankings`: query id -> ids of the data set, best first. `latencies_ms`: of every Search that succeeded.
    """

    rankings: dict[str, list[str]]
    latencies_ms: list[float]
    failures: ErrorBudget
    versions: answer_pb2.Versions


def document_id(dataset: RetrievalDataset, document: CorpusDocument) -> str:
    """The id under which a document is uploaded; stable over runs and within the API's alphabet."""
    wanted = f"{dataset.corpus}-{document.id}"
    if _ID_FORM.fullmatch(wanted):
        return wanted
    return f"dataset-{hashlib.sha256(wanted.encode()).hexdigest()[:32]}"


def dataset_uploads(dataset: RetrievalDataset, topic: str) -> list[Upload]:
    """Every document of a data set as one plain-text file."""
    return [_upload(dataset, document, topic) for document in dataset.documents]


def _upload(dataset: RetrievalDataset, document: CorpusDocument, topic: str) -> Upload:
    identifier = document_id(dataset, document)
    metadata = documents_pb2.DocumentMetadata(
        title=(document.title or document.id)[:500],
        topic=topic,
        language=dataset.language,
        source_category="dataset",
        source=dataset.corpus,
    )
    return Upload(identifier, f"{identifier}.txt", metadata, document.text.encode)


async def has_reranker(client: RadrefClient, query: str, *, timeout: float) -> bool:
    """Whether the system names a reranker."""
    response = await client.search(query, timeout=timeout)
    return bool(response.versions.reranker)


async def run_leg(
    client: RadrefClient,
    dataset: RetrievalDataset,
    leg: Leg,
    *,
    stored: Mapping[str, Sequence[str]],
    topic: str,
    concurrency: int,
    timeout: float,
    on_done: Callable[[], None],
) -> LegRun:
    """Searches every query with one leg.

    Args:
        client: has the gateway's address.
        dataset: what is measured.
        leg: what is searched.
        stored: id in the system -> ids of the data set (several when their texts are equal). Other documents
            of the system are passed over.
        topic: the collection that holds the documents.
        concurrency: searches in flight at a time, >= 1.
        timeout: seconds a call.
        on_done: called after every query.

    Raises:
        Unavailable: more than 5 % of the queries failed.
    """
    rankings: dict[str, list[str]] = {}
    latencies: list[float] = []
    budget = ErrorBudget(len(dataset.queries))
    versions = answer_pb2.Versions()
    rerank = gateway_pb2.RERANK_MODE_ON if leg is Leg.HYBRID_RERANK else gateway_pb2.RERANK_MODE_OFF
    filters = documents_pb2.SearchFilters(topics=[topic])

    async def search(item: tuple[str, str]) -> None:
        query_id, text = item
        started = time.perf_counter()
        try:
            response = await client.search(
                text, legs=_SEARCHED[leg], rerank=rerank, limits=LIMITS, filters=filters, timeout=timeout
            )
        except RadrefError as error:
            budget.spend(error)
        else:
            latencies.append((time.perf_counter() - started) * 1000)
            rankings[query_id] = _ranking(response, stored)
            versions.CopyFrom(response.versions)
        on_done()

    await for_each(dataset.queries.items(), search, window=concurrency)
    return LegRun(rankings, latencies, budget, versions)


def _ranking(response: gateway_pb2.SearchResponse, stored: Mapping[str, Sequence[str]]) -> list[str]:
    """Documents in the order of their first parent."""
    order: dict[str, None] = {}
    for parent in response.ranked_parents:
        order.update(dict.fromkeys(stored.get(parent.passage.document_id, ())))
    return list(order)
