"""Composition root of the retrieval service: the only place where its settings become objects."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from radref.api.retrieval.v1 import index_pb2_grpc, retrieval_pb2_grpc
from radref.service.channels import open_channel
from radref.service.health import Component
from radref.service.metrics import KB_DOCUMENTS
from radref.service.runtime import App, Servicer, run_service
from retrieval_svc.bm25 import Bm25Encoder
from retrieval_svc.catalogue import Catalogue
from retrieval_svc.generations import Generations
from retrieval_svc.index import Index
from retrieval_svc.inference_client import EmbedderCheck, InferenceClient
from retrieval_svc.maintenance import Maintenance
from retrieval_svc.retrieve import Retriever
from retrieval_svc.service import IndexServicer, RetrievalServicer
from retrieval_svc.settings import RetrievalSettings
from retrieval_svc.store.edge.generations import EdgeGenerations
from retrieval_svc.store.protocol import VectorStore

log = structlog.get_logger()


async def compose(settings: RetrievalSettings) -> App:
    """Opens the index and wires the service."""
    topics = settings.collections
    channel = open_channel(settings.inference_target)
    inference = InferenceClient(channel, timeout=settings.embed_timeout_seconds)
    encoder = Bm25Encoder(k=settings.bm25_k, b=settings.bm25_b, avg_len=settings.bm25_avg_len)

    def count_documents() -> None:
        documents = generations.searched.catalogue.active_documents()
        for topic in topics.all:
            KB_DOCUMENTS.labels(state="indexed", topic=topic).set(documents[topic])

    def make_index(store: VectorStore, catalogue: Catalogue, on_change: Callable[[], None]) -> Index:
        return Index(
            store=store,
            catalogue=catalogue,
            encoder=encoder,
            bm25_headings=settings.bm25_headings,
            on_change=on_change,
        )

    generations = Generations(
        EdgeGenerations(
            settings.data_dir, topics=topics.all, compact_after_changes=settings.compact_after_changes
        ),
        make_index,
        on_change=count_documents,
    )
    try:
        await generations.open()
    except BaseException:
        await generations.close()
        raise
    retriever = Retriever(
        searched=lambda: generations.searched,
        encoder=encoder,
        embed=inference.embed_query,
        embed_timeout=settings.embed_timeout_seconds,
        profile=settings.profile.resolve(),
        topics=topics,
    )
    maintenance = Maintenance(
        generations=generations,
        interval=settings.maintenance_interval_seconds,
        retention=settings.superseded_retention_seconds,
        grace=settings.deletion_grace_seconds,
    )

    async def check_store() -> None:
        await generations.searched.store.counts()

    async def close_channel() -> None:
        await channel.close()

    snapshot = generations.searched.catalogue.snapshot
    log.info("index opened", documents=len(snapshot.active), version=snapshot.index_version)
    return App(
        services=[
            Servicer(
                retrieval_pb2_grpc.add_RetrievalServiceServicer_to_server,
                RetrievalServicer(retriever),
                "radref.api.retrieval.v1.RetrievalService",
            ),
            Servicer(
                index_pb2_grpc.add_IndexServiceServicer_to_server,
                IndexServicer(generations),
                "radref.api.retrieval.v1.IndexService",
            ),
        ],
        components=[
            Component("vector-store", check_store),
            Component("inference", EmbedderCheck(inference, lambda: generations.searched.fingerprint)),
        ],
        workers=[maintenance.run],
        closers=[generations.close, close_channel],
    )


def main() -> None:
    run_service("retrieval", RetrievalSettings, compose)


if __name__ == "__main__":
    main()
