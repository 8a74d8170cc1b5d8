from __future__ import annotations

import pytest

from evaluation.datasets import CorpusDocument, RetrievalDataset
from evaluation.retrieval_run import Leg, has_reranker, run_leg
from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.client import RadrefClient
from radref.errors import Internal, Unavailable
from tests.evaluation.eval_fake_system import FakeGateway, passage, ranked, serving

DATASET = RetrievalDataset(
    name="mini",
    corpus="mini",
    language="en",
    documents=(
        CorpusDocument("1", "", "one"),
        CorpusDocument("2", "", "two"),
        CorpusDocument("3", "", "two"),
    ),
    queries={"q": "query"},
    qrels={"q": {"2": 1}},
)
# Documents 2 and 3 have the same text, so the system knows one.
STORED = {"mini-1": ["1"], "mini-2": ["2", "3"]}


def searched(request: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
    found = [passage("a", "", document="foreign"), passage("b", "", document="mini-2")]
    found += [passage("c", "", document="mini-2"), passage("d", "", document="mini-1")]
    return gateway_pb2.SearchResponse(ranked_parents=ranked(*found))


@pytest.mark.parametrize(
    ("leg", "legs", "rerank"),
    [
        (Leg.BM25, [documents_pb2.SEARCH_LEG_BM25], gateway_pb2.RERANK_MODE_OFF),
        (Leg.DENSE, [documents_pb2.SEARCH_LEG_DENSE], gateway_pb2.RERANK_MODE_OFF),
        (
            Leg.HYBRID,
            [documents_pb2.SEARCH_LEG_DENSE, documents_pb2.SEARCH_LEG_BM25],
            gateway_pb2.RERANK_MODE_OFF,
        ),
        (
            Leg.HYBRID_RERANK,
            [documents_pb2.SEARCH_LEG_DENSE, documents_pb2.SEARCH_LEG_BM25],
            gateway_pb2.RERANK_MODE_ON,
        ),
    ],
)
async def test_a_leg_is_searched_and_ranked(leg: Leg, legs: list[int], rerank: int) -> None:
    gateway = FakeGateway(searched)
    async with serving(gateway) as address, RadrefClient(gateway=address) as client:
        run = await run_leg(
            client,
            DATASET,
            leg,
            stored=STORED,
            topic="anatomy",
            concurrency=2,
            timeout=5,
            on_done=lambda: None,
        )
    assert run.rankings == {"q": ["2", "3", "1"]}
    assert len(run.latencies_ms) == 1
    (request,) = gateway.searches
    assert (list(request.legs), request.rerank) == (legs, rerank)
    assert request.limits.parents == 100
    assert list(request.filters.topics) == ["anatomy"]


async def test_failures_end_the_leg() -> None:
    def failing(_: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
        raise Internal("defect")

    async with serving(FakeGateway(failing)) as address, RadrefClient(gateway=address) as client:
        with pytest.raises(Unavailable, match="1 x INTERNAL"):
            await run_leg(
                client,
                DATASET,
                Leg.BM25,
                stored=STORED,
                topic="t",
                concurrency=1,
                timeout=5,
                on_done=lambda: None,
            )


async def test_the_reranker_is_read_off_the_versions() -> None:
    def reranking(_: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
        return gateway_pb2.SearchResponse(versions=answer_pb2.Versions(reranker="r@1"))

    for search, expected in ((searched, False), (reranking, True)):
        async with serving(FakeGateway(search)) as address, RadrefClient(gateway=address) as client:
            assert await has_reranker(client, "query", timeout=5) is expected
