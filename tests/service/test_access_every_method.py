"""Every method of the user-facing services, as the running servers name them by reflection, refuses every
caller it is not for. A method that is added without a rule fails here."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_status import rpc_status

from gateway import access_rules as gateway_rules
from ingest_svc import access_rules as ingest_rules
from radref.service.access.caller import Role
from tests.service.access_issuer import AUDIENCE, ISSUER, Issuer
from tests.service.test_process import free_ports

MODULES = {"gateway": "gateway.server", "ingest": "ingest_svc.server"}
RULES = {**gateway_rules.ACCESS_RULES, **ingest_rules.ACCESS_RULES}
pytestmark = pytest.mark.e2e


@dataclass
class Server:
    issuer: Issuer
    port: int
    log: Path

    def channel(self, token: str | None) -> grpc.Channel:
        channel = grpc.insecure_channel(f"127.0.0.1:{self.port}")
        return channel if token is None else grpc.intercept_channel(channel, _WithToken(token))

    def methods(self) -> list[MethodDescriptor]:
        """What reflection names, health and reflection left out: they are not radref's."""
        with self.channel(self.issuer.token(roles=["reader"])) as channel:
            database = ProtoReflectionDescriptorDatabase(channel)
            names = [name for name in database.get_services() if not name.startswith("grpc.")]
            pool = DescriptorPool(database)
            return [method for name in names for method in pool.FindServiceByName(name).methods]

    def refusal(self, method: MethodDescriptor, token: str | None) -> tuple[grpc.StatusCode, str]:
        """Code and ErrorInfo reason of an empty request; OK and "" where it is answered."""
        path = full_name(method)
        with self.channel(token) as channel:
            request = iter([b""]) if method.client_streaming else b""
            first = "stream" if method.client_streaming else "unary"
            second = "stream" if method.server_streaming else "unary"
            try:
                answer = getattr(channel, f"{first}_{second}")(path)(request, timeout=20)
                if method.server_streaming:
                    list(answer)
            except grpc.RpcError as exc:
                return exc.code(), _reason(exc)
        return grpc.StatusCode.OK, ""


class _WithToken(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    def __init__(self, token: str) -> None:
        self._header = ("authorization", f"Bearer {token}")

    def _intercept(self, continuation, details, request):
        metadata = [*(details.metadata or ()), self._header]
        return continuation(details._replace(metadata=metadata), request)

    intercept_unary_unary = intercept_unary_stream = _intercept
    intercept_stream_unary = intercept_stream_stream = _intercept


def full_name(method: MethodDescriptor) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def _reason(exc: grpc.RpcError) -> str:
    status = rpc_status.from_call(exc)
    assert status is not None, f"{exc.code()} without details"
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert info.domain == "radref"
    assert info.metadata["request_id"]
    return info.reason


@pytest.fixture(scope="module", params=MODULES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The real process with access control; its neighbours do not answer."""
    name = request.param
    folder = tmp_path_factory.mktemp(name)
    issuer = Issuer()
    (folder / "jwks.json").write_bytes(issuer.jwks())
    port, admin, closed = free_ports(3)
    access = {
        "mode": "jwt",
        "issuer": ISSUER,
        "audience": AUDIENCE,
        "jwks_file": str(folder / "jwks.json"),
        "algorithms": ["ES256"],
    }
    targets = ("inference", "retrieval", *(("ingest",) if name == "gateway" else ()))
    settings = {
        "listen": f"127.0.0.1:{port}",
        "admin_listen": f"127.0.0.1:{admin}",
        "drain_wait_seconds": 0,
        "access": access,
        "rate_limit": {"calls_per_minute": 0},
        **{f"{target}_target": f"127.0.0.1:{closed}" for target in targets},
        **({"data_dir": str(folder / "documents")} if name == "ingest" else {}),
    }
    config = folder / "radref.yaml"
    # JSON is YAML.
    config.write_text(json.dumps({name: settings}), encoding="utf-8")
    log = folder / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", MODULES[name], "--config", str(config)], stderr=sink, env=os.environ
        )
    try:
        _wait_until_listening(process, port, log)
        yield Server(issuer, port, log)
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_listening(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            try:
                health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=1)
            except grpc.RpcError:
                time.sleep(0.1)
            else:
                return
    raise AssertionError(log.read_text())


def test_every_method_refuses_tokens_that_do_not_count(server: Server) -> None:
    issuer = server.issuer
    everything = {"roles": [role.value for role in Role]}
    tokens = {
        "missing": (None, "TOKEN_MISSING"),
        "expired": (issuer.token(exp=int(time.time()) - 3600, **everything), "TOKEN_EXPIRED"),
        "wrong audience": (issuer.token(aud="another", **everything), "TOKEN_INVALID"),
        "alg none": (issuer.unsigned(**everything), "TOKEN_INVALID"),
        "public key as secret": (issuer.signed_with_public_key(**everything), "TOKEN_INVALID"),
    }
    methods = server.methods()
    assert methods
    got = {
        (full_name(method), fault): server.refusal(method, token)
        for method in methods
        for fault, (token, _) in tokens.items()
    }
    wanted = {
        (full_name(method), fault): (grpc.StatusCode.UNAUTHENTICATED, reason)
        for method in methods
        for fault, (_, reason) in tokens.items()
    }
    assert got == wanted


def test_every_method_is_for_its_roles_and_no_others(server: Server) -> None:
    refused = (grpc.StatusCode.PERMISSION_DENIED, "ROLE_REQUIRED")
    for method in server.methods():
        allowed = RULES[full_name(method)]
        assert server.refusal(method, server.issuer.token(roles=["stranger"])) == refused
        for role in Role:
            answer = server.refusal(method, server.issuer.token(roles=[role.value]))
            assert (answer == refused) is (role not in allowed), (full_name(method), role, answer)
            assert answer[0] != grpc.StatusCode.UNAUTHENTICATED


def test_a_method_nobody_has_heard_of_is_refused_too(server: Server) -> None:
    with server.channel(None) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary("/radref.api.gateway.v1.GatewayService/Backdoor")(b"", timeout=10)
    assert (caught.value.code(), _reason(caught.value)) == (
        grpc.StatusCode.UNAUTHENTICATED,
        "TOKEN_MISSING",
    )


def test_health_is_open_and_reflection_is_not(server: Server) -> None:
    with server.channel(None) as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10)
        assert answer.status == health_pb2.HealthCheckResponse.NOT_SERVING
        with pytest.raises(grpc.RpcError) as caught:
            list(ProtoReflectionDescriptorDatabase(channel).get_services())
    assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED


def test_the_log_says_what_is_off_and_quotes_no_token(server: Server) -> None:
    token = server.issuer.token(roles=["reader"])
    server.refusal(server.methods()[0], token)
    text = server.log.read_text()
    warnings = [line for line in text.splitlines() if "SECURITY IS OFF" in line]
    assert len(warnings) == 1
    assert ".tls" in warnings[0]
    assert ".access" not in warnings[0]
    assert token not in text
    assert token.rpartition(".")[2] not in text
