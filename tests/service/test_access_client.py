"""The client's side: tokens, retries, every method of the gateway, a token handed on to a neighbour."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import grpc
import pytest

from radref import errors
from radref.api.gateway.v1 import consult_pb2, gateway_pb2, gateway_pb2_grpc
from radref.client import RadrefClient
from radref.client_environment import tls_from_environment, token_from_environment
from radref.retry_policy import ATTEMPTS
from radref.service.access.caller import Role
from radref.service.access.rules import rules_of
from radref.service.admission import Admission
from radref.service.channels import callers_authorization, open_channel
from radref.service.guard import Guard
from radref.service.interceptors import guarded
from tests.service.access_issuer import Issuer, access_with


class Recorder(gateway_pb2_grpc.GatewayServiceServicer):
    """Remembers headers; fails as long as `failures` are left."""

    def __init__(self) -> None:
        self.headers: list[str | None] = []
        self.failures: list[errors.RadrefError] = []
        self.audit: list[gateway_pb2.QueryAuditRequest] = []
        self.cancelled = asyncio.Event()
        self.breaks_off = False

    def _record(self, context: grpc.aio.ServicerContext) -> None:
        self.headers.append(dict(context.invocation_metadata()).get("authorization"))
        if self.failures:
            raise self.failures.pop()

    async def Search(self, request, context):  # noqa: N802
        self._record(context)
        return gateway_pb2.SearchResponse(query=request.query)

    async def StreamGenerate(self, request, context):  # noqa: N802
        self._record(context)
        yield gateway_pb2.StreamGenerateResponse(sources=gateway_pb2.StreamSources(request_id="r"))
        if request.query == "endless":
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
        if not self.breaks_off:
            yield gateway_pb2.StreamGenerateResponse(end=gateway_pb2.StreamEnd())

    async def Consult(self, request, context):  # noqa: N802
        self._record(context)
        return consult_pb2.ConsultResponse(banner=request.scenario)

    async def SubmitFeedback(self, request, context):  # noqa: N802
        self._record(context)
        return gateway_pb2.SubmitFeedbackResponse(feedback_id=request.request_id)

    async def QueryAudit(self, request, context):  # noqa: N802
        self.audit.append(request)
        page = int(request.page_token or 0)
        return gateway_pb2.QueryAuditResponse(
            entries=[gateway_pb2.AuditEntry(request_id=str(page))],
            next_page_token=str(page + 1) if page < 2 else "",
        )


@asynccontextmanager
async def connected(**options) -> AsyncIterator[tuple[Recorder, RadrefClient]]:
    recorder = Recorder()
    async with serving(recorder) as target, RadrefClient(gateway=target, ingest=target, **options) as client:
        yield recorder, client


@asynccontextmanager
async def serving(servicer: gateway_pb2_grpc.GatewayServiceServicer) -> AsyncIterator[str]:
    server = grpc.aio.server(interceptors=guarded(Guard(admission=Admission(4, 4))))
    gateway_pb2_grpc.add_GatewayServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


async def later() -> str:
    return "t"


@pytest.mark.parametrize("token", ["t", lambda: "t", later])
async def test_the_token_goes_with_every_call(token) -> None:
    async with connected(token=token) as (recorder, client):
        await client.search("q")
        await client.consult("s")
        assert [event async for event in client.stream_generate("q")]
    assert recorder.headers == ["Bearer t"] * 3


async def test_a_renewed_token_is_used_at_once() -> None:
    tokens = ["first", "second"]
    async with connected(token=lambda: tokens.pop(0)) as (recorder, client):
        await client.search("q")
        await client.search("q")
    assert recorder.headers == ["Bearer first", "Bearer second"]


async def test_no_token_no_header() -> None:
    async with connected() as (recorder, client):
        await client.search("q")
    assert recorder.headers == [None]


def failing() -> str:
    raise errors.InvalidInput("no token today")


async def test_a_provider_that_fails_says_so_itself() -> None:
    async with connected(token=failing) as (recorder, client):
        with pytest.raises(errors.InvalidInput, match="no token today"):
            await client.search("q")
        with pytest.raises(errors.InvalidInput, match="no token today"):
            [event async for event in client.stream_generate("q")]
    assert recorder.headers == []


async def test_what_changes_nothing_is_tried_again_when_the_service_is_not_reached() -> None:
    async with connected() as (recorder, client):
        recorder.failures = [errors.Unavailable("x")] * (ATTEMPTS - 1)
        assert (await client.search("q")).query == "q"
        assert len(recorder.headers) == ATTEMPTS
        recorder.failures = [errors.Unavailable("x")] * 10
        with pytest.raises(errors.Unavailable):
            await client.search("q")
    assert len(recorder.headers) == 2 * ATTEMPTS


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda client: client.submit_feedback("r"), errors.Unavailable("x")),
        (lambda client: client.search("q"), errors.Overloaded("x", retry_after=1)),
        (lambda client: client.search("q"), errors.Unauthenticated("x")),
        (lambda client: client.search("q"), errors.Internal("x")),
    ],
)
async def test_everything_else_is_tried_once(call: Callable, error: errors.RadrefError) -> None:
    async with connected() as (recorder, client):
        recorder.failures = [error] * 2
        with pytest.raises(type(error)):
            await call(client)
    assert len(recorder.headers) == 1


async def test_a_stream_that_is_left_ends_at_the_service() -> None:
    async with connected() as (recorder, client):
        events = client.stream_generate("endless")
        assert (await anext(events)).sources.request_id == "r"
        await events.aclose()
        await asyncio.wait_for(recorder.cancelled.wait(), 10)


async def test_feedback_and_audit() -> None:
    async with connected() as (recorder, client):
        assert await client.submit_feedback("r", comment="good") == "r"
        moment = datetime(2026, 1, 2, tzinfo=UTC)
        entries = [entry async for entry in client.query_audit(since=moment, until=moment, actor="a")]
    assert [entry.request_id for entry in entries] == ["0", "1", "2"]
    first = recorder.audit[0]
    assert first.actor == "a"
    assert getattr(first, "from").ToDatetime(UTC) == first.until.ToDatetime(UTC) == moment


class Forwarding(Recorder):
    """A service that asks a neighbour on behalf of its caller."""

    def __init__(self, neighbour: str) -> None:
        super().__init__()
        self.neighbour = neighbour

    async def Search(self, request, context):  # noqa: N802
        async with open_channel(self.neighbour, authorization=callers_authorization) as channel:
            stub = gateway_pb2_grpc.GatewayServiceStub(channel)
            return await stub.Search(request, timeout=5)


async def test_a_neighbour_gets_the_token_of_the_person_who_asks() -> None:
    issuer, recorder = Issuer(), Recorder()
    rules = rules_of("radref.api.gateway.v1.GatewayService", {"Search": frozenset({Role.READER})})
    token = issuer.token()
    async with serving(recorder) as neighbour:
        guard = Guard(admission=Admission(4, 4), access=access_with(issuer.jwks, rules))
        server = grpc.aio.server(interceptors=guarded(guard))
        gateway_pb2_grpc.add_GatewayServiceServicer_to_server(Forwarding(neighbour), server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with RadrefClient(gateway=f"127.0.0.1:{port}", token=token) as client:
            await client.search("q")
        await server.stop(0)
    assert recorder.headers == [f"Bearer {token}"]


def test_the_environment_gives_token_and_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TOKEN", "TOKEN_FILE", "CA_FILE", "CERT_FILE", "KEY_FILE"):
        monkeypatch.delenv(f"RADREF_{name}", raising=False)
    assert token_from_environment() is None
    assert tls_from_environment() is None
    monkeypatch.setenv("RADREF_TOKEN", "from-variable\n")
    token = token_from_environment()
    assert token is not None
    assert token() == "from-variable"
    path = tmp_path / "token"
    monkeypatch.setenv("RADREF_TOKEN_FILE", str(path))
    token = token_from_environment()
    assert token is not None
    with pytest.raises(errors.InvalidInput, match="holds no token"):
        token()
    for content in ("one", "two\n"):
        path.write_text(content)
        assert token() == content.strip()
    monkeypatch.setenv("RADREF_CERT_FILE", "c")
    with pytest.raises(errors.InvalidInput):
        tls_from_environment()
    monkeypatch.setenv("RADREF_KEY_FILE", "k")
    monkeypatch.setenv("RADREF_CA_FILE", "a")
    files = tls_from_environment()
    assert files is not None
    assert (files.ca, files.cert, files.key) == (Path("a"), Path("c"), Path("k"))


@pytest.mark.parametrize(
    "target",
    [
        "radref.example:7100",
        "10.0.0.7:7100",
        "0.0.0.0:7100",
        "dns:///localhost:7100",
        "dns://10.0.0.7/localhost:7100",
        "ipv4:127.0.0.1:7100,10.0.0.7:7100",
        "localhost.example:7100",
    ],
)
def test_a_token_never_leaves_the_machine_readable(target: str) -> None:
    for targets in ({"gateway": target}, {"ingest": target}):
        with pytest.raises(errors.InvalidInput, match="readable") as caught:
            RadrefClient(**targets, token="secret-token")
        assert caught.value.field == "token"
        assert "secret-token" not in str(caught.value)


@pytest.mark.parametrize(
    "target", ["127.0.0.1:7100", "localhost:7100", "[::1]:7100", "unix:/run/radref.sock"]
)
async def test_on_this_machine_or_where_a_mesh_is_named_it_is_sent(target: str) -> None:
    await RadrefClient(gateway=target, token="t").close()
    await RadrefClient(gateway="radref.example:7100", token="t", allow_insecure_token=True).close()
    await RadrefClient(gateway="radref.example:7100").close()


async def test_a_stream_without_its_end_is_no_whole_answer() -> None:
    async with connected() as (recorder, client):
        recorder.breaks_off = True
        with pytest.raises(errors.Internal, match="broke off"):
            [event async for event in client.stream_generate("q")]
