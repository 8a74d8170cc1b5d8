"""The export against a scripted radref on real gRPC."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from evaluation.peers.export import export, with_evidence
from evaluation.peers.formats import Document, Parent, Result
from evaluation.questions import Question
from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.client import RadrefClient
from radref.errors import PreconditionFailed
from tests.evaluation.eval_fake_system import FakeGateway, FakeIngest, passage, serving

FIRST, SECOND = passage("a" * 20, "first second", document="doc"), passage("b" * 20, "third", document="doc")
SECOND.ordinal = 1
QUESTION = Question("q", "What?", "en", "en", True, gold_quotes=("third",))


def ranked(item: documents_pb2.Passage, *spans: tuple[int, int]) -> answer_pb2.RankedParent:
    children = [documents_pb2.ChildHit(span=documents_pb2.Span(start=a, end=b)) for a, b in spans]
    return answer_pb2.RankedParent(passage=item, children=children)


def searched(request: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
    assert request.rerank == gateway_pb2.RERANK_MODE_OFF
    if request.filters.document_ids:
        assert list(request.filters.document_ids) == ["doc"]
        return gateway_pb2.SearchResponse(
            ranked_parents=[ranked(SECOND, (0, 5)), ranked(FIRST, (6, 12), (0, 5))]
        )
    assert request.limits.parents == 13
    return gateway_pb2.SearchResponse(ranked_parents=[ranked(SECOND, (0, 5))])


class Library(FakeIngest):
    async def GetDocument(self, request, context):  # noqa: N802
        metadata = documents_pb2.DocumentMetadata(title="T", topic="safety", language="en")
        return ingest_pb2.GetDocumentResponse(
            document=ingest_pb2.DocumentSummary(document_id=request.document_id, metadata=metadata),
            markdown=f"# version {request.version}",
        )


def library(*, children: int = 3) -> Library:
    summary = ingest_pb2.DocumentSummary(
        document_id="doc", version=2, active_version=2, parents=2, children=children
    )
    waiting = ingest_pb2.DocumentSummary(document_id="waiting", version=1)
    return Library(existing={b"1": summary, b"2": waiting})


@asynccontextmanager
async def connected(ingest: FakeIngest) -> AsyncIterator[RadrefClient]:
    async with (
        serving(FakeGateway(search=searched), ingest) as address,
        RadrefClient(gateway=address, ingest=address) as client,
    ):
        yield client


async def test_searchable_documents_their_passages_in_order_and_results() -> None:
    steps: list[tuple[str, int]] = []
    async with connected(library()) as client:
        exported = await export(
            client, [QUESTION], timeout=5, on_step=lambda what, total: steps.append((what, total))
        )
    assert exported.documents == (Document("doc", "T", "safety", "en", "# version 2"),)
    assert exported.parents == (
        Parent("a" * 20, "doc", 0, "first second", ((0, 5), (6, 12))),
        Parent("b" * 20, "doc", 1, "third", ((0, 5),)),
    )
    assert exported.results == (Result("q", ("b" * 20,)),)
    assert exported.meta["children"] == 3
    assert exported.meta["versions"]["embedder"] == "e5@1"
    assert steps == [("document", 1), ("question", 1)]


async def test_passages_that_cannot_all_be_had_are_an_error_not_a_smaller_corpus() -> None:
    async with connected(library(children=4)) as client:
        with pytest.raises(PreconditionFailed, match="3 of 4 children of doc"):
            await export(client, [QUESTION], timeout=5)


async def test_an_empty_system_is_an_error() -> None:
    async with connected(FakeIngest()) as client:
        with pytest.raises(PreconditionFailed, match="no searchable document"):
            await export(client, [QUESTION], timeout=5)


def test_only_answerable_questions_with_quotes_are_asked() -> None:
    refusable = Question("u", "Who?", "en", "en", False)
    without = Question("w", "When?", "en", "en", True, key_facts=("1",))
    assert with_evidence([QUESTION, refusable, without]) == [QUESTION]
