"""Nothing starts where others could reach a service that checks nothing."""

from pathlib import Path

import pytest
import structlog

from gateway.settings import GatewaySettings
from ingest_svc.settings import IngestSettings
from radref.service.exposure import check_exposure, warn_of_open_doors
from radref.service.loopback import is_loopback
from radref.service.settings import ServiceSettings, SettingsError
from retrieval_svc.settings import RetrievalSettings

JWT = {"mode": "jwt", "issuer": "i", "audience": "a", "jwks_file": Path("/keys")}
FILES = {"cert_file": Path("/c"), "key_file": Path("/k"), "ca_file": Path("/a")}
MTLS = {"mode": "mtls", **FILES}
OPEN = "0.0.0.0:7100"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (lambda: GatewaySettings.load(listen=OPEN), ["gateway.tls.mode", "gateway.access.mode"]),
        (lambda: GatewaySettings.load(listen=OPEN, tls={"mode": "mesh"}), ["gateway.access.mode"]),
        (lambda: GatewaySettings.load(listen="[::]:7100", access=JWT), ["gateway.tls.mode"]),
        (lambda: IngestSettings.load(listen="radref.hospital:7103", access=JWT), ["ingest.tls.mode"]),
        (lambda: RetrievalSettings.load(listen=OPEN), ["retrieval.tls.mode"]),
        (lambda: RetrievalSettings.load(tls=MTLS), ["retrieval.tls.allowed_peer_names"]),
        (
            lambda: RetrievalSettings.load(
                tls={**MTLS, "allowed_peer_names": ["gateway"], "peer_listen": "127.0.0.1:1"}
            ),
            ["retrieval.tls.peer_listen"],
        ),
        (
            lambda: GatewaySettings.load(
                tls={**MTLS, "allowed_peer_names": ["x"], "peer_listen": "10.0.0.1:7110"}
            ),
            ["gateway.tls.peer_listen", "gateway.access.mode"],
        ),
    ],
)
def test_what_is_missing_is_named(settings, named: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        check_exposure(settings())
    assert all(name in str(caught.value) for name in named)


@pytest.mark.parametrize(
    "settings",
    [
        lambda: GatewaySettings.load(),
        lambda: IngestSettings.load(listen="localhost:1"),
        lambda: GatewaySettings.load(listen=OPEN, access=JWT, tls={"mode": "mesh"}),
        lambda: GatewaySettings.load(listen=OPEN, access=JWT, tls=MTLS),
        lambda: RetrievalSettings.load(listen=OPEN, tls={"mode": "mesh"}),
        lambda: RetrievalSettings.load(listen=OPEN, tls={**MTLS, "allowed_peer_names": ["gateway"]}),
    ],
)
def test_what_is_protected_or_on_loopback_starts(settings) -> None:
    check_exposure(settings())


def test_half_of_the_certificate_settings_are_refused() -> None:
    with pytest.raises(SettingsError, match="mode mtls needs key_file, ca_file"):
        RetrievalSettings.load(tls={"mode": "mtls", "cert_file": Path("/c")})
    with pytest.raises(SettingsError, match="peer_listen"):
        GatewaySettings.load(tls={**MTLS, "peer_listen": "127.0.0.1:1"})


@pytest.mark.parametrize(
    ("settings", "off"),
    [
        (lambda: GatewaySettings.load(), ["gateway.tls", "gateway.access"]),
        (lambda: GatewaySettings.load(access=JWT), ["gateway.tls"]),
        (lambda: RetrievalSettings.load(), ["retrieval.tls"]),
    ],
)
def test_what_is_off_is_said_once_and_loudly(settings, off: list[str]) -> None:
    with structlog.testing.capture_logs() as logs:
        warn_of_open_doors(settings())
    assert [(line["log_level"], line["off"]) for line in logs] == [("warning", off)]
    assert "SECURITY IS OFF" in logs[0]["event"]


def test_nothing_is_said_when_everything_is_on() -> None:
    protected: ServiceSettings = GatewaySettings.load(access=JWT, tls={"mode": "mesh"})
    with structlog.testing.capture_logs() as logs:
        warn_of_open_doors(protected)
    assert logs == []


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("[::]", False),
        ("", False),
        ("10.0.0.1", False),
        ("localhost.hospital.example", False),
    ],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
