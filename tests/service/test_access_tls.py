"""Mutual TLS over real connections: who is let in, and certificates renewed under a running server."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest

from gateway.settings import GatewaySettings
from radref import errors
from radref.api.gateway.v1 import gateway_pb2, gateway_pb2_grpc
from radref.service.channels import open_channel
from radref.service.guard import Guard, guard_of
from radref.service.interceptors import guarded
from radref.service.metrics import CERTIFICATE_EXPIRY
from radref.service.settings import ServiceSettings
from radref.service.status import error_from_rpc
from radref.service.tls import client
from radref.service.tls.client import RenewedChannel
from radref.service.tls.files import CertificateFiles, TlsFiles
from radref.service.tls.peers import AllowedPeers
from radref.service.tls.server_ports import ServerPorts
from retrieval_svc.settings import RetrievalSettings
from tests.inference.certificates import CertificateAuthority, certificate_authority
from tests.service.test_process import free_ports


class Answers(gateway_pb2_grpc.GatewayServiceServicer):
    def __init__(self) -> None:
        self.peers: list[bytes] = []

    async def Search(self, request, context):  # noqa: N802
        names = context.auth_context().get("x509_subject_alternative_name", ())
        self.peers.extend(name for name in names if name.isalpha())
        return gateway_pb2.SearchResponse(query=request.query)

    async def StreamGenerate(self, request, context):  # noqa: N802
        for _ in range(3):
            yield gateway_pb2.StreamGenerateResponse()


class Site:
    """A folder with an authority and files that may be replaced."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = certificate_authority(folder)
        self.server = self.certificate("server")

    def certificate(self, *names: str, authority: CertificateAuthority | None = None) -> TlsFiles:
        cert, key = (authority or self.authority).issue(self.folder, names[0], *names)
        return TlsFiles(self.authority.path, cert, key)

    def tls(self, **more) -> dict:
        files = self.server
        return {
            "mode": "mtls",
            "cert_file": files.cert,
            "key_file": files.key,
            "ca_file": files.ca,
            "allowed_peer_names": ["gateway", "ingest"],
            **more,
        }


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@asynccontextmanager
async def serving(settings: ServiceSettings, guard: Guard | None = None) -> AsyncIterator[Answers]:
    answers, ports = Answers(), ServerPorts.of(settings)
    server = grpc.aio.server(interceptors=guarded(guard or guard_of(settings), ports.peers))
    gateway_pb2_grpc.add_GatewayServiceServicer_to_server(answers, server)
    ports.open(server, settings)
    await server.start()
    try:
        yield answers
    finally:
        await server.stop(0)


async def ask(target: str, tls: TlsFiles | None) -> str:
    """The answer of Search; RadrefError where there is none."""
    async with open_channel(target, tls=tls) as channel:
        return await ask_over(channel)


async def ask_over(channel: grpc.aio.Channel) -> str:
    try:
        request = gateway_pb2.SearchRequest(query="ok")
        response = await gateway_pb2_grpc.GatewayServiceStub(channel).Search(request, timeout=10)
    except grpc.aio.AioRpcError as exc:
        raise error_from_rpc(exc, backend="test") from None
    return str(response.query)


def internal(site: Site) -> tuple[str, RetrievalSettings]:
    target = f"127.0.0.1:{free_ports(1)[0]}"
    return target, RetrievalSettings.load(listen=target, tls=site.tls())


async def test_a_listed_peer_is_served(site: Site) -> None:
    target, settings = internal(site)
    async with serving(settings):
        assert await ask(target, site.certificate("gateway")) == "ok"
        assert await ask(target, site.certificate("another", "ingest")) == "ok"


async def test_a_peer_that_is_not_listed_is_told_so(site: Site) -> None:
    target, settings = internal(site)
    async with serving(settings) as answers:
        for name in ("another", "gateway.evil", "gatewa"):
            with pytest.raises(errors.PermissionDenied) as caught:
                await ask(target, site.certificate(name))
            assert caught.value.reason == "PEER_NOT_ALLOWED"
    assert answers.peers == []


async def test_without_certificate_or_with_a_strangers_there_is_no_connection(
    site: Site, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    stranger = certificate_authority(elsewhere)
    target, settings = internal(site)
    async with serving(settings):
        for tls in (
            TlsFiles(site.authority.path),
            site.certificate("gateway", authority=stranger),
            None,
        ):
            with pytest.raises(errors.Unavailable):
                await ask(target, tls)
        # The other way round: a server whose authority the client does not trust.
        good = site.certificate("gateway")
        with pytest.raises(errors.Unavailable):
            await ask(target, TlsFiles(stranger.path, good.cert, good.key))


async def test_people_need_no_certificate_and_services_have_a_port_that_asks(site: Site) -> None:
    people, services = (f"127.0.0.1:{port}" for port in free_ports(2))
    settings = GatewaySettings.load(listen=people, tls=site.tls(peer_listen=services))
    async with serving(settings):
        assert await ask(people, TlsFiles(site.authority.path)) == "ok"
        assert await ask(services, site.certificate("ingest")) == "ok"
        with pytest.raises(errors.Unavailable):
            await ask(services, TlsFiles(site.authority.path))
        with pytest.raises(errors.PermissionDenied):
            await ask(services, site.certificate("another"))
        with pytest.raises(errors.Unavailable):
            await ask(people, None)


async def test_certificates_are_renewed_under_a_running_server_and_client(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything changes hands: a new authority, a new server certificate, a new client certificate."""
    monkeypatch.setattr(client, "LOOK_EVERY_SECONDS", 0)
    target, settings = internal(site)
    mine = site.certificate("gateway")
    async with serving(settings) as answers, open_channel(target, tls=mine) as channel:
        assert await ask_over(channel) == "ok"
        old_authority = shutil.copy(site.authority.path, tmp_path / "old-authority.pem")
        renewed = tmp_path / "renewed"
        renewed.mkdir()
        authority = certificate_authority(renewed)
        for name, alternative in (("server", "server"), ("gateway", "ingest")):
            authority.issue(renewed, name, alternative)
        before = CERTIFICATE_EXPIRY.labels(certificate="own")._value.get()
        CERTIFICATE_EXPIRY.labels(certificate="own").set(0)
        for path in renewed.iterdir():
            shutil.move(path, site.folder / path.name)
        assert await ask_over(channel) == "ok"
        assert CERTIFICATE_EXPIRY.labels(certificate="own")._value.get() >= before
        # Who still trusts the old authority alone is not connected: the server really has the new one.
        with pytest.raises(errors.Unavailable):
            await ask(target, TlsFiles(old_authority, mine.cert, mine.key))
    assert answers.peers == [b"gateway", b"ingest"]


async def test_calls_in_flight_outlive_a_renewal(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LOOK_EVERY_SECONDS", 0)
    target, settings = internal(site)
    async with (
        serving(settings),
        open_channel(target, tls=site.certificate("gateway")) as channel,
    ):
        stub = gateway_pb2_grpc.GatewayServiceStub(channel)
        call = stub.StreamGenerate(gateway_pb2.StreamGenerateRequest(), timeout=10)
        await call.read()
        site.certificate("gateway")
        assert await ask_over(channel) == "ok"
        assert isinstance(channel, RenewedChannel)
        assert len(channel._leaving) == 1
        assert len([message async for message in call]) == 2
        async with asyncio.timeout(10):
            while channel._leaving:
                await asyncio.sleep(0)


async def test_half_replaced_files_change_nothing(site: Site) -> None:
    files = site.certificate("gateway")
    kept = CertificateFiles(files)
    before = kept.current()
    assert files.cert is not None
    good = files.cert.read_bytes()
    other = certificate_authority(site.folder, "other").issue(site.folder, "other-cert", "x")[0].read_bytes()
    for content in (b"", b"rubbish", good[:-40], other):
        files.cert.write_bytes(content)
        assert kept.current() is before
    files.cert.unlink()
    assert kept.current() is before
    files.cert.write_bytes(good)
    assert kept.current() is not before


@pytest.mark.parametrize("broken", ["cert", "key", "ca"])
def test_unusable_files_are_named_at_start(site: Site, broken: str) -> None:
    path: Path = getattr(site.server, broken)
    path.write_bytes(b"rubbish")
    with pytest.raises(ValueError, match=path.name):
        CertificateFiles(site.server)


def test_a_certificate_without_names_does_not_pass_for_a_person() -> None:
    people_too = AllowedPeers(["gateway"], required=False)
    people_too.check({"transport_security_type": [b"ssl"]})
    with pytest.raises(errors.PermissionDenied):
        people_too.check({"x509_common_name": [b"gateway"]})
    with pytest.raises(errors.PermissionDenied):
        AllowedPeers(["gateway"], required=True).check({})
