"""Every method of the services that face users, by reflection, with every token that must not open it.

A new method is found here by itself; without a rule it is open to nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from google.protobuf import descriptor_pb2
from google.rpc import error_details_pb2
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from gateway.access_rules import RULES as GATEWAY_RULES
from ingest_svc.access_rules import RULES as INGEST_RULES
from radref.api.gateway.v1 import gateway_pb2, gateway_pb2_grpc
from radref.api.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from radref.service.access.caller import Role
from radref.service.access.compose import compose_access
from radref.service.admission import Admission
from radref.service.guard import Guard
from radref.service.interceptors import interceptors
from tests.service.access.token_kit import Provider, settings

SERVICES: dict[str, tuple[Any, Any, Mapping[str, frozenset[Role]]]] = {
    "gateway": (
        gateway_pb2.DESCRIPTOR.services_by_name["GatewayService"],
        (gateway_pb2_grpc.GatewayServiceServicer, gateway_pb2_grpc.add_GatewayServiceServicer_to_server),
        GATEWAY_RULES,
    ),
    "ingest": (
        ingest_pb2.DESCRIPTOR.services_by_name["IngestService"],
        (ingest_pb2_grpc.IngestServiceServicer, ingest_pb2_grpc.add_IngestServiceServicer_to_server),
        INGEST_RULES,
    ),
}
NOT_LISTED = "/radref.api.gateway.v1.GatewayService/Later"


@dataclass
class Served:
    """A service whose methods do nothing behind the real interceptors and rules."""

    channel: grpc.aio.Channel
    provider: Provider
    rules: Mapping[str, frozenset[Role]]
    reached: list[str]

    async def methods(self) -> dict[str, tuple[bool, bool]]:
        """Full names, and which side streams, as a stranger with any valid token sees them."""
        stub = reflection_pb2_grpc.ServerReflectionStub(self.channel)
        token = (("authorization", f"Bearer {self.provider.token()}"),)

        async def ask(**request: str) -> Any:
            asked = reflection_pb2.ServerReflectionRequest(**request)
            call = stub.ServerReflectionInfo(iter([asked]), metadata=token)
            return await anext(aiter(call))

        found = {}
        services = (await ask(list_services="")).list_services_response.service
        for name in (service.name for service in services if service.name.startswith("radref.")):
            files = (await ask(file_containing_symbol=name)).file_descriptor_response.file_descriptor_proto
            for file in map(descriptor_pb2.FileDescriptorProto.FromString, files):
                for service in file.service:
                    if f"{file.package}.{service.name}" == name:
                        for method in service.method:
                            full = f"/{name}/{method.name}"
                            found[full] = (method.client_streaming, method.server_streaming)
        return found

    async def call(self, method: str, authorization: str | None) -> grpc.aio.AioRpcError | None:
        """Calls with an empty request; returns the error."""
        client_streams, server_streams = (await self.methods()).get(method, (False, False))
        kind = f"{'stream' if client_streams else 'unary'}_{'stream' if server_streams else 'unary'}"
        rpc = getattr(self.channel, kind)(method, lambda _: b"", lambda data: data)
        metadata = () if authorization is None else (("authorization", authorization),)
        request = iter([None]) if client_streams else None
        call = rpc(request, timeout=30, metadata=metadata)
        try:
            if server_streams:
                async for _ in call:
                    pass
            else:
                await call
        except grpc.aio.AioRpcError as exc:
            return exc
        return None


def _servicer(base: type, reached: list[str]) -> object:
    """Every method answers UNIMPLEMENTED, as generated code does, after noting that it was reached."""
    made = base()
    for name in [name for name in dir(base) if name[0].isupper()]:

        def behaviour(request: object, context: Any, name: str = name) -> Any:
            reached.append(name)
            context.set_code(grpc.StatusCode.DATA_LOSS)
            raise NotImplementedError

        setattr(made, name, behaviour)
    return made


@pytest_asyncio.fixture(params=sorted(SERVICES))
async def served(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Served]:
    descriptor, (base, add), rules = SERVICES[request.param]
    provider = Provider()
    (tmp_path / "jwks.json").write_bytes(provider.key_set())
    access = compose_access(settings(tmp_path / "jwks.json"), rules)
    server = grpc.aio.server(
        interceptors=interceptors(
            Guard(Admission(64, 64), access),
            require_deadline=True,
            long_lived=frozenset(),
            draining=asyncio.Event(),
        )
    )
    reached: list[str] = []
    add(_servicer(base, reached), server)
    reflection.enable_server_reflection((descriptor.full_name, reflection.SERVICE_NAME), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield Served(channel, provider, rules, reached)
    await server.stop(None)


def info_of(error: grpc.aio.AioRpcError | None) -> error_details_pb2.ErrorInfo:
    assert error is not None
    status = rpc_status.from_call(error)  # type: ignore[arg-type]
    info = error_details_pb2.ErrorInfo()
    assert status is not None
    assert any(detail.Unpack(info) for detail in status.details)
    assert info.domain == "radref"
    assert info.metadata["request_id"]
    return info


async def test_every_method_refuses_every_bad_token(served: Served) -> None:
    provider = served.provider
    everything = [str(role) for role in Role]
    bad = {
        "missing": (None, "TOKEN_MISSING"),
        "expired": (provider.token(*everything, exp=1), "TOKEN_EXPIRED"),
        "wrong audience": (provider.token(*everything, aud="portal"), "TOKEN_INVALID"),
        "wrong issuer": (provider.token(*everything, iss="https://evil.example"), "TOKEN_INVALID"),
        "alg none": (provider.unsigned(*everything), "TOKEN_INVALID"),
        "public key as secret": (provider.confused(*everything), "TOKEN_INVALID"),
        "no role": (provider.token(), "ROLE_REQUIRED"),
    }
    methods = await served.methods()
    assert len(methods) >= 9
    for method in methods:
        wrong = [str(role) for role in Role if role not in served.rules[method]]
        cases = {**bad, **{f"role {role}": (provider.token(role), "ROLE_REQUIRED") for role in wrong}}
        for name, (token, reason) in cases.items():
            error = await served.call(method, None if token is None else f"Bearer {token}")
            info = info_of(error)
            assert (method, name, info.reason) == (method, name, reason)
            assert error is not None
            wanted = (
                grpc.StatusCode.PERMISSION_DENIED
                if reason == "ROLE_REQUIRED"
                else grpc.StatusCode.UNAUTHENTICATED
            )
            assert error.code() is wanted
    assert served.reached == []


async def test_every_method_has_a_rule_and_opens_to_its_roles(served: Served) -> None:
    methods = await served.methods()
    assert set(methods) == set(served.rules)
    for method in methods:
        for role in served.rules[method]:
            served.reached.clear()
            await served.call(method, f"Bearer {served.provider.token(str(role))}")
            assert served.reached == [method.rpartition("/")[2]]


async def test_a_method_without_a_rule_is_open_to_nobody(served: Served) -> None:
    error = await served.call(NOT_LISTED, f"Bearer {served.provider.token(*map(str, Role))}")
    assert info_of(error).reason == "ROLE_REQUIRED"


async def test_reflection_needs_a_token_and_says_why(served: Served) -> None:
    stub = reflection_pb2_grpc.ServerReflectionStub(served.channel)
    asked = reflection_pb2.ServerReflectionRequest(list_services="")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await anext(aiter(stub.ServerReflectionInfo(iter([asked]))))
    assert info_of(caught.value).reason == "TOKEN_MISSING"


async def test_only_curators_bring_and_only_approvers_release() -> None:
    assert Role.CURATOR not in INGEST_RULES["/radref.api.ingest.v1.IngestService/ReviewDocument"]
    assert Role.APPROVER not in INGEST_RULES["/radref.api.ingest.v1.IngestService/SubmitDocument"]
    assert Role.READER not in INGEST_RULES["/radref.api.ingest.v1.IngestService/ListDocuments"]
