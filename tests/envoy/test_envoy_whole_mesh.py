"""The four real services, which know nothing of the proxies at every one of them, as in the overlay `istio`.

Certificates on every way between pods, the committed policies at every door: what they leave out, fails here.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest

from radref.api.gateway.v1 import gateway_pb2, gateway_pb2_grpc
from radref.cli.uploads import Verdict
from radref.client import RadrefClient
from tests.e2e.conftest import SAMPLES, ingest
from tests.envoy.answering import until_true
from tests.envoy.authorization import proxy_rules
from tests.envoy.envoy_config import Cluster, Door, Tls
from tests.envoy.envoy_process import Envoy, running_envoy
from tests.envoy.mesh_site import Site, spiffe_id
from tests.service.service_process import ServiceProcess, service_process
from tests.service.test_process import free_ports

MODULES = {
    "inference": "inference_svc.server",
    "retrieval": "retrieval_svc.server",
    "ingest": "ingest_svc.server",
    "gateway": "gateway.server",
}
CALLS = {
    "gateway": ("retrieval", "inference", "ingest"),
    "retrieval": ("inference",),
    "ingest": ("retrieval", "inference"),
}
INGRESS = spiffe_id("gateway", namespace="istio-ingress")
REQUEST_ID = "through-the-mesh"
QUESTION = "What is the most effective dose a visitor without a badge may get from us in a year?"


@dataclass(frozen=True, slots=True)
class Mesh:
    """Running services, and the proxies that callers speak to."""

    services: dict[str, ServiceProcess]
    outbound: Envoy

    @asynccontextmanager
    async def client(self) -> AsyncIterator[RadrefClient]:
        address = self.outbound.address
        async with RadrefClient(gateway=address("user-gateway"), ingest=address("user-ingest")) as client:
            yield client


@contextmanager
def running_mesh(folder: Path) -> Iterator[Mesh]:
    site = Site(folder)
    ports = dict(zip(MODULES, free_ports(len(MODULES)), strict=True))
    # Who may speak to a pod at all; what each may call there is for the policies.
    mesh = (INGRESS, *(spiffe_id(account) for account in MODULES))
    inbound_doors = [
        Door(
            service,
            Cluster((f"127.0.0.1:{port}",)),
            tls=Tls(site.of(service), mesh),
            rules=proxy_rules(service),
        )
        for service, port in ports.items()
    ]
    with ExitStack() as stack:
        inbound = stack.enter_context(running_envoy(_made(folder / "inbound"), *inbound_doors))

        def way(name: str, certificate: Tls, service: str) -> Door:
            return Door(name, Cluster((inbound.address(service),), tls=certificate))

        ways = [
            way(f"{caller}-{service}", Tls(site.of(caller), (spiffe_id(service),)), service)
            for caller, services in CALLS.items()
            for service in services
        ]
        ingress = site.named("ingress", INGRESS)
        ways += [
            way(f"user-{name}", Tls(ingress, (spiffe_id(name),)), name) for name in ("gateway", "ingest")
        ]
        outbound = stack.enter_context(running_envoy(_made(folder / "outbound"), *ways))
        services = {}
        for name, module in MODULES.items():
            targets = {
                f"{called.upper()}_TARGET": outbound.address(f"{name}-{called}")
                for called in CALLS.get(name, ())
            }
            data = {} if name == "inference" else {"DATA_DIR": str(folder / "data")}
            uploads = {"AUTO_APPROVE": "true"} if name == "ingest" else {}
            services[name] = stack.enter_context(
                service_process(module, name, port=ports[name], **targets, **data, **uploads)
            )
        yield Mesh(services, outbound)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.e2e
async def test_a_document_is_ingested_and_a_question_answered_through_every_proxy(tmp_path: Path) -> None:
    with ExitStack() as stack:
        mesh = await asyncio.to_thread(stack.enter_context, running_mesh(tmp_path))
        for service in mesh.services.values():
            await until_true(lambda service=service: service.get("/readyz")[0] == 200)
        async with mesh.client() as client:
            results = await ingest(client, SAMPLES / "safety-dose-limits.md")
            assert [result.verdict for result in results] == [Verdict.INDEXED], results
        headers = (("x-request-id", REQUEST_ID),)
        async with grpc.aio.insecure_channel(mesh.outbound.address("user-gateway")) as channel:
            stub = gateway_pb2_grpc.GatewayServiceStub(channel)
            request = gateway_pb2.GenerateRequest(query=QUESTION)
            answer = await stub.Generate(request, timeout=120, metadata=headers)
            assert answer.statements
            (citation, *_) = answer.statements[0].citations
            asked = gateway_pb2.GetSourceRequest(citation_id=citation.citation_id)
            source = await stub.GetSource(asked, timeout=60, metadata=headers)
        assert "0.8 mSv" in " ".join(statement.text for statement in answer.statements)
        assert citation.quote in source.passage.text
        methods = {
            name: {
                entry["method"]
                for entry in service.log()
                if entry["message"] == "served" and entry.get("request_id") == REQUEST_ID
            }
            for name, service in mesh.services.items()
        }
    assert methods["gateway"] == {"Generate", "GetSource"}
    assert methods["retrieval"] == {"Retrieve"}
    assert methods["ingest"] == {"GetPassage"}
    assert {"Embed", "Generate"} <= methods["inference"]
