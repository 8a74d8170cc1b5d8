"""The trace of a call travels on to the model servers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace

from inference_svc.embedders.triton.embedder import TritonEmbedder
from inference_svc.places import Places
from tests.inference.generators.openai_setup import CHAT, generator, text, writes
from tests.inference.openai_standin import standin
from tests.inference.triton_standin import TritonStandin

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@contextmanager
def a_trace() -> Iterator[None]:
    _, trace_id, span_id, _ = TRACEPARENT.split("-")
    context = trace.SpanContext(
        int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=trace.TraceFlags(1)
    )
    with trace.use_span(trace.NonRecordingSpan(context)):
        yield


async def test_to_an_openai_compatible_server() -> None:
    async with standin() as server:
        server.on(CHAT, writes("x"))
        made = generator(server.url)
        with a_trace():
            await text(made)
        await text(made)
        await made.close()
        assert [seen.headers.get("traceparent") for seen in server.seen] == [TRACEPARENT, None]
        assert not any("authorization" in seen.headers for seen in server.seen)


async def test_to_triton() -> None:
    triton = TritonStandin()
    await triton.start()

    def places() -> Places:
        return Places("embedder", concurrent=8, waiting=8, observe_wait=lambda _: None)

    embedder = TritonEmbedder(
        triton.target,
        timeout=30.0,
        places=places(),
        document_places=places(),
        observe_compute=lambda _: None,
    )
    try:
        with a_trace():
            await embedder.embed_queries(["доза"])
        asked_in_trace = len(triton.seen)
        await embedder.embed_queries(["доза"])
        told = [seen.traceparent for seen in triton.seen]
    finally:
        await embedder.close()
        await triton.stop()
    assert set(told[:asked_in_trace]) == {TRACEPARENT}
    assert set(told[asked_in_trace:]) == {""}
