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
from retrieval_svc.indexed_text import IndexedText
from retrieval_svc.inference_client import EmbedderCheck, InferenceClient
from retrieval_svc.maintenance import Maintenance
from retrieval_svc.retrieve import Retriever
from retrieval_svc.service import IndexServicer, RetrievalServicer
from retrieval_svc.settings import RetrievalSettings
from retrieval_svc.store.protocol import GenerationStores, VectorStore
from retrieval_svc.store.settings import QdrantStoreSettings

log = structlog.get_logger()


async def compose(settings: RetrievalSettings) -> App:
    """Opens the index and wires the service."""
    topics = settings.collections
    channel = open_channel(settings.inference_target, tls=settings.tls.files())
    inference = InferenceClient(channel, timeout=settings.embed_timeout_seconds)
    text = _indexed_text(settings)

    def count_documents() -> None:
        documents = generations.searched.catalogue.active_documents()
        for topic in topics.all:
            KB_DOCUMENTS.labels(state="indexed", topic=topic).set(documents[topic])

    def make_index(store: VectorStore, catalogue: Catalogue, on_change: Callable[[], None]) -> Index:
        return Index(
            store=store,
            catalogue=catalogue,
            text=text,
            on_change=on_change,
        )

    generations = Generations(_stores(settings), make_index, on_change=count_documents)
    try:
        await generations.open()
    except BaseException:
        await generations.close()
        raise
    retriever = Retriever(
        searched=lambda: generations.searched,
        text=text,
        embed=inference.embed_query,
        embed_timeout=settings.embed_timeout_seconds,
        search_timeout=settings.search_timeout_seconds,
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


def _indexed_text(settings: RetrievalSettings) -> IndexedText:
    k, b = settings.bm25_k, settings.bm25_b
    return IndexedText(
        child=Bm25Encoder(k=k, b=b, avg_len=settings.bm25_avg_len),
        parent=Bm25Encoder(k=k, b=b, avg_len=settings.bm25_parent_avg_len),
        child_headings=settings.bm25_headings,
    )


def _stores(settings: RetrievalSettings) -> GenerationStores:
    """Where the index is; its engine is imported here so that the other one need not be installed."""
    store, topics = settings.store, settings.collections.all
    if not isinstance(store, QdrantStoreSettings):
        from retrieval_svc.store.edge.generations import EdgeGenerations

        return EdgeGenerations(
            settings.data_dir, topics=topics, compact_after_changes=settings.compact_after_changes
        )
    from retrieval_svc.store.server.collections import Layout
    from retrieval_svc.store.server.connection import Server, ServerAddress, open_client
    from retrieval_svc.store.server.generations import ServerGenerations

    address = ServerAddress(store.host, store.port, store.tls, store.authority(), store.key())
    client = open_client(address, timeout=store.timeout_seconds)
    server = Server(client, search_timeout=store.search_timeout_seconds, timeout=store.timeout_seconds)
    layout = Layout(store.shards, store.replicas, store.write_replicas, store.on_disk)
    return ServerGenerations(server, prefix=store.prefix, topics=topics, layout=layout)


def main() -> None:
    run_service("retrieval", RetrievalSettings, compose)


if __name__ == "__main__":
    main()
