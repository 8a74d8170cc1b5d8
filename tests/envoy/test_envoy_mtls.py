"""Certificates between two proxies, and between a proxy and a service with its own: who gets through."""

from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from radref.service.status import error_from_rpc
from tests.envoy.answering import DESCRIBE, GENERATE, answering, call, plain_channel
from tests.envoy.authorization import proxy_rules
from tests.envoy.envoy_config import Cluster, Door, Tls
from tests.envoy.envoy_process import Envoy, running_envoy
from tests.envoy.mesh_site import Site, spiffe_id
from tests.inference.certificates import certificate_authority
from tests.service.service_process import service_process

CALLERS = tuple(spiffe_id(account) for account in ("gateway", "retrieval", "ingest"))
REPLICA = "tests.service.replica"
DNS_NAMES = ("gateway.radref.svc", "ingest.radref.svc")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


async def outcome(address: str) -> str:
    """OK, or the status and what it says."""
    async with plain_channel(address) as channel:
        try:
            await call(channel, DESCRIBE)
        except grpc.aio.AioRpcError as exc:
            return f"{exc.code().name}: {exc.details()}"
    return "OK"


def inference_side(site: Site, address: str, *, shown_as: str = "inference") -> Door:
    """The proxy in front of inference: asks callers for a certificate, speaks clear text to its own pod."""
    return Door("in", Cluster((address,)), tls=Tls(site.of(shown_as), CALLERS))


def caller_side(inbound: str, tls: Tls | None) -> Door:
    """The proxy beside a caller, which calls it in clear text."""
    return Door("out", Cluster((inbound,), tls=tls))


def inbound_of(envoy: Envoy) -> str:
    return envoy.address("in")


async def test_the_right_names_are_let_through_and_all_others_are_not(site: Site, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    stranger = certificate_authority(elsewhere)
    inference = (spiffe_id("inference"),)
    good = Tls(site.of("gateway"), inference)
    refused = {
        "another account of the mesh": Tls(site.of("notebook"), inference),
        "the right name from another authority": Tls(site.of("gateway", stranger), inference),
        "no certificate": replace(good, shown=False),
        "clear text": None,
    }
    async with answering() as service:
        with running_envoy(_folder(tmp_path, "in"), inference_side(site, service.address)) as server:
            assert await _through(tmp_path, server, good) == "OK"
            for who, tls in refused.items():
                assert (await _through(tmp_path, server, tls)).startswith("UNAVAILABLE"), who
            for reason in ("fail_verify_san", "fail_verify_error", "fail_verify_no_cert"):
                assert server.stat(f"listener.in.ssl.{reason}") >= 1, reason
            # The other way round: the caller's proxy takes nobody else for inference.
            impostor = Tls(site.of("gateway"), (spiffe_id("retrieval"),))
            door = caller_side(inbound_of(server), impostor)
            with running_envoy(_folder(tmp_path, "out"), door) as client:
                assert (await outcome(client.address("out"))).startswith("UNAVAILABLE")
                assert client.stat("cluster.out.ssl.fail_verify_san") >= 1
    assert len(service.seen) == 1


async def _through(tmp_path: Path, server: Envoy, tls: Tls | None) -> str:
    with running_envoy(_folder(tmp_path, "out"), caller_side(inbound_of(server), tls)) as client:
        return await outcome(client.address("out"))


def _folder(tmp_path: Path, name: str) -> Path:
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.e2e
async def test_a_service_with_its_own_certificates_behind_a_proxy(site: Site, tmp_path: Path) -> None:
    """tls.mode mtls: the proxy's name must be on allowed_peer_names, for health as for every call."""
    server = site.named("inference", "inference.radref.svc")
    settings = {
        "TLS__MODE": "mtls",
        "TLS__CERT_FILE": str(server.cert),
        "TLS__KEY_FILE": str(server.key),
        "TLS__CA_FILE": str(server.ca),
        "TLS__ALLOWED_PEER_NAMES": '["gateway.radref.svc"]',
    }
    with service_process(REPLICA, "inference", NAME="a", **settings) as replica:

        def door(name: str, shown: str, expected: str = "inference.radref.svc") -> Door:
            tls = Tls(site.named(name, shown), (expected,), kind="DNS")
            # Health is asked too; with one replica that fails it, panic would call it all the same.
            cluster = Cluster((replica.address,), tls=tls, health_seconds=0.2, panic_percent=0)
            return Door(name, cluster)

        doors = (
            door("right", "gateway.radref.svc"),
            door("wrong", "notebook.radref.svc"),
            door("elsewhere", "gateway.radref.svc", "retrieval.radref.svc"),
        )
        with running_envoy(tmp_path, *doors) as envoy:
            envoy.wait("cluster.right.membership_healthy", 1)
            assert await outcome(envoy.address("right")) == "OK"
            for name in ("wrong", "elsewhere"):
                assert envoy.healthy(name) == 0
                assert await outcome(envoy.address(name)) == "UNAVAILABLE: no healthy upstream"
        unasked = [replace(one, cluster=replace(one.cluster, health_seconds=None)) for one in doors]
        with running_envoy(tmp_path, *unasked) as envoy:
            async with plain_channel(envoy.address("wrong")) as channel:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await call(channel, DESCRIBE)
    assert error_from_rpc(caught.value, backend="test").reason == "PEER_NOT_ALLOWED"


@pytest.mark.parametrize(
    ("account", "service", "method", "allowed"),
    [
        ("gateway", "inference", GENERATE, True),
        ("retrieval", "inference", DESCRIBE, True),
        ("ingest", "inference", DESCRIBE, True),
        ("inference", "inference", DESCRIBE, False),
        ("gateway", "inference", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", False),
        ("gateway", "retrieval", "/radref.api.retrieval.v1.RetrievalService/Retrieve", True),
        ("gateway", "retrieval", "/radref.api.retrieval.v1.IndexService/GetStats", False),
        ("ingest", "retrieval", "/radref.api.retrieval.v1.IndexService/GetStats", True),
        ("inference", "retrieval", "/radref.api.retrieval.v1.RetrievalService/Retrieve", False),
        ("gateway", "ingest", "/radref.api.ingest.v1.IngestService/GetPassage", True),
        ("gateway", "ingest", "/radref.api.ingest.v1.IngestService/ListDocuments", False),
    ],
)
async def test_the_committed_policies_let_through_what_they_name(
    site: Site, tmp_path: Path, account: str, service: str, method: str, allowed: bool
) -> None:
    """k8s/components/mesh/authorization.yaml, put to Envoy as Istio does: names from certificates, paths."""
    everybody = tuple(spiffe_id(name) for name in ("gateway", "retrieval", "ingest", "inference"))
    async with answering() as pod:
        inbound = Door(
            "in",
            Cluster((pod.address,)),
            tls=Tls(site.of(service), everybody),
            rules=proxy_rules(service),
        )
        with running_envoy(_folder(tmp_path, "in"), inbound) as server:
            outbound = Tls(site.of(account), (spiffe_id(service),))
            with running_envoy(_folder(tmp_path, "out"), caller_side(inbound_of(server), outbound)) as client:
                async with plain_channel(client.address("out")) as channel:
                    if allowed:
                        await call(channel, method)
                    else:
                        with pytest.raises(grpc.aio.AioRpcError) as caught:
                            await call(channel, method)
                        assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
    assert len(pod.seen) == int(allowed)
