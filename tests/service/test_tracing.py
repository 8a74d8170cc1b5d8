"""Traces of a real gateway, sent to a real receiver: all hops in one, ids in logs and exemplars, no text."""

import asyncio
import re
import sys
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from radref.api.gateway.v1 import gateway_pb2
from radref.service.settings import SettingsError
from radref.service.tracing.export import start_export
from radref.service.tracing.settings import TracingSettings
from tests.service.collector import Collector, attributes, collector
from tests.service.gateway_stack import QUESTION, Stack, gateway_stack
from tests.service.service_process import OPENMETRICS, until
from tests.service.test_balancing import OneSettings
from tests.service.test_process import free_ports

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
SEARCH = "radref.api.gateway.v1.GatewayService/Search"
GENERATE = "radref.api.gateway.v1.GatewayService/Generate"
RETRIEVE = "radref.api.retrieval.v1.RetrievalService/Retrieve"


@pytest.fixture
def receiver():
    with collector() as running:
        yield running


async def wait_for_spans(receiver: Collector, *names: str) -> dict[str, Span]:
    await asyncio.to_thread(until, lambda: receiver.spans().keys() >= set(names))
    return receiver.spans()


def traced(receiver: Collector) -> dict[str, str]:
    return {"TRACING__ENDPOINT": receiver.address}


async def search(stack: Stack, **metadata: str) -> gateway_pb2.SearchResponse:
    request = gateway_pb2.SearchRequest(query=QUESTION)
    return await stack.stub.Search(request, timeout=60, metadata=tuple(metadata.items()))


@pytest.mark.e2e
async def test_one_trace_from_the_caller_to_the_neighbour(
    tmp_path: Path, receiver: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    async with gateway_stack(tmp_path, **traced(receiver)) as stack:
        stack.retrieval.release.set()
        baggage = {"baggage": "patient=Mustermann"}
        found = await search(stack, traceparent=TRACEPARENT, **baggage)
        spans = await wait_for_spans(receiver, SEARCH, RETRIEVE, "retrieval")
        _, metrics = stack.gateway.get("/metrics", OPENMETRICS)
        _, classic = stack.gateway.get("/metrics")
        served = [entry for entry in stack.gateway.log() if entry["message"] == "served"]
    server, client = spans[SEARCH], spans[RETRIEVE]
    assert (server.trace_id.hex(), server.parent_span_id.hex()) == (TRACE, PARENT)
    stage = spans["retrieval"]
    assert (client.trace_id, client.parent_span_id) == (server.trace_id, stage.span_id)
    assert stage.parent_span_id == server.span_id
    assert (server.kind, client.kind) == (Span.SPAN_KIND_SERVER, Span.SPAN_KIND_CLIENT)
    assert attributes(server) == {"radref.request_id": found.request_id, "rpc.response.status_code": "OK"}
    # What the neighbour got names the client's span, and nothing that a caller put in besides.
    (headers,) = stack.retrieval.headers
    assert headers["traceparent"] == f"00-{TRACE}-{client.span_id.hex()}-01"
    assert "baggage" not in headers
    assert [(entry["trace_id"], entry["request_id"]) for entry in served] == [(TRACE, found.request_id)]
    labels = f'code="OK",le="[^"]+",method="Search",service="{SEARCH[:-7]}"'
    bucket = f"radref_rpc_server_duration_seconds_bucket{{{labels}}}"
    exemplar = f'# {{request_id="{found.request_id}",trace_id="{TRACE}"}}'
    assert re.search(f"{bucket} [0-9.]+ {re.escape(exemplar)}", metrics)
    assert "trace_id" not in classic


@pytest.mark.e2e
async def test_stages_and_rest_have_spans_and_none_holds_text(
    tmp_path: Path, receiver: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    async with gateway_stack(tmp_path, **traced(receiver)) as stack:
        stack.retrieval.release.set()
        await stack.stub.Generate(gateway_pb2.GenerateRequest(query=QUESTION), timeout=60)
        assert (await stack.search_by_rest(traceparent=TRACEPARENT))[0] == 200
        with pytest.raises(grpc.aio.AioRpcError):
            await stack.stub.Search(gateway_pb2.SearchRequest(query=" "), timeout=60)
        spans = await wait_for_spans(receiver, GENERATE, "gate", "rest/Search", SEARCH)
        log = str(stack.gateway.log())
    assert spans["gate"].parent_span_id == spans[GENERATE].span_id
    assert spans["rest/Search"].trace_id.hex() == TRACE
    # The caller's fault is no failure of the service.
    assert attributes(spans[SEARCH])["rpc.response.status_code"] == "INVALID_ARGUMENT"
    assert spans[SEARCH].status.code == Status.STATUS_CODE_UNSET
    sent = str(receiver.requests())
    assert "Mustermann" not in sent + log
    assert "Dosis" not in sent + log
    resource = {
        each.key: each.value.string_value
        for each in receiver.requests()[0].resource_spans[0].resource.attributes
    }
    assert resource["service.name"] == "radref-gateway"
    assert resource["deployment.environment.name"] == "test"


@pytest.mark.e2e
async def test_the_rest_is_sent_at_the_end(tmp_path: Path, receiver: Collector, monkeypatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.address)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000")
    async with gateway_stack(tmp_path) as stack:
        stack.retrieval.release.set()
        await search(stack)
        stack.gateway.terminate()
        assert await asyncio.to_thread(stack.gateway.process.wait, 60) == 0
    assert SEARCH in receiver.spans()


@pytest.mark.e2e
async def test_a_collector_that_is_away_costs_nothing(tmp_path: Path) -> None:
    (closed,) = free_ports(1)
    async with gateway_stack(tmp_path, TRACING__ENDPOINT=f"http://127.0.0.1:{closed}") as stack:
        stack.retrieval.release.set()
        # More than the queue of the exporter holds.
        for _ in range(24):
            await asyncio.gather(*(search(stack) for _ in range(60)))
        stack.gateway.terminate()
        assert await asyncio.to_thread(stack.gateway.process.wait, 60) == 0


@pytest.mark.e2e
async def test_without_an_exporter_the_callers_trace_goes_through(tmp_path: Path) -> None:
    async with gateway_stack(tmp_path) as stack:
        stack.retrieval.release.set()
        await search(stack, traceparent=TRACEPARENT, tracestate="vendor=1")
        await search(stack)
        await search(stack, traceparent="00-nonsense")
        log = stack.gateway.log()
    through, *without = stack.retrieval.headers
    assert (through["traceparent"], through["tracestate"]) == (TRACEPARENT, "vendor=1")
    assert not any("traceparent" in headers for headers in without)
    served = [entry for entry in log if entry["message"] == "served"]
    assert [entry.get("trace_id") for entry in served] == [TRACE, None, None]


@pytest.mark.parametrize("endpoint", ["collector:4317", "file:///tmp/x", "http://"])
def test_an_endpoint_that_is_none_is_refused(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RADREF_INFERENCE_TRACING__ENDPOINT", endpoint)
    with pytest.raises(SettingsError, match=r"tracing\.endpoint"):
        OneSettings.load()


def test_an_endpoint_without_the_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    with pytest.raises(ValueError, match=r"radref\[telemetry\]"):
        start_export(TracingSettings(endpoint="http://127.0.0.1:4317"), "gateway")


@pytest.mark.parametrize(("name", "value"), [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none")])
def test_the_standard_switches_turn_it_off(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    monkeypatch.setenv(name, value)
    start_export(TracingSettings(endpoint="http://127.0.0.1:4317"), "gateway")()
