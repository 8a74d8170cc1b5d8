"""The doors of operators: what they show, and who reaches them."""

import http.client
import socket
import subprocess
import sys

import grpc
import pytest
from grpc_channelz.v1 import channelz_pb2, channelz_pb2_grpc

from radref.service.admin import AdminServer
from tests.service.service_process import service_process
from tests.service.test_process import free_ports

REPLICA = "tests.service.replica"


@pytest.fixture
def admin():
    server = AdminServer("127.0.0.1:0", lambda: (False, ["retrieval"]))
    yield server
    server.close()


def ask(port: int, method: str, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_nothing_but_three_pages(admin: AdminServer) -> None:
    assert ask(admin.port, "GET", "/readyz?x=1") == (503, "waiting for retrieval\n")
    assert ask(admin.port, "GET", "/livez") == (200, "ok\n")
    assert ask(admin.port, "GET", "/debug") == (404, "try /metrics, /livez or /readyz\n")
    status, text = ask(admin.port, "POST", "/metrics")
    assert status == 501
    assert "Python" not in text


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_it_listens_on_ipv6() -> None:
    server = AdminServer("[::1]:0", lambda: (True, []))
    try:
        with socket.create_connection(("::1", server.port), timeout=10):
            pass
    finally:
        server.close()


@pytest.mark.e2e
def test_channelz_tells_of_connections_on_its_own_port_only() -> None:
    (port,) = free_ports(1)
    with service_process(REPLICA, "inference", CHANNELZ_LISTEN=f"127.0.0.1:{port}") as service:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = channelz_pb2_grpc.ChannelzStub(channel)
            servers = stub.GetServers(channelz_pb2.GetServersRequest(), timeout=30).server
        with grpc.insecure_channel(service.address) as channel:
            stub = channelz_pb2_grpc.ChannelzStub(channel)
            with pytest.raises(grpc.RpcError) as refused:
                stub.GetServers(channelz_pb2.GetServersRequest(), timeout=30)
    # The one that serves, and this one.
    assert len(servers) == 2
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.e2e
def test_channelz_stays_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RADREF_INFERENCE_CHANNELZ_LISTEN", "0.0.0.0:7302")
    done = subprocess.run([sys.executable, "-m", REPLICA], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "inference.channelz_listen" in done.stderr
