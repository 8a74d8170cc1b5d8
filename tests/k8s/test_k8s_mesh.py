"""In a mesh: everything encrypted, only named callers, no second layer of retries, no way to admin ports."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from tests.k8s.manifests import COMBINATIONS, Rendered, matches, render

MESHES = ("istio", *(name for name, parts in COMBINATIONS.items() if "components/mesh" in parts))
HOST = ".radref.svc.cluster.local"
API = {
    "gateway": ("gateway.v1.gateway_pb2",),
    "retrieval": ("retrieval.v1.retrieval_pb2", "retrieval.v1.index_pb2"),
    "inference": ("inference.v1.inference_pb2",),
    "ingest": ("ingest.v1.ingest_pb2",),
}


@pytest.fixture(scope="module", params=MESHES)
def mesh(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    return render(request.param, tmp_path_factory.mktemp("mesh"))


def methods(service: str) -> set[str]:
    """Full names of the methods of a service's API, and of health."""
    found = {"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"}
    for module in API[service]:
        descriptor = importlib.import_module(f"radref.api.{module}").DESCRIPTOR
        for api in descriptor.services_by_name.values():
            found |= {f"/{api.full_name}/{method.name}" for method in api.methods}
    return found


def policies_of(mesh: Rendered, labels: dict[str, str]) -> list[dict[str, Any]]:
    return [
        p["spec"]
        for p in mesh.of("AuthorizationPolicy")
        if "selector" in p["spec"] and matches(p["spec"]["selector"], labels)
    ]


def test_plain_text_is_refused_everywhere(mesh: Rendered) -> None:
    (only,) = mesh.of("PeerAuthentication")
    assert only["spec"] == {"mtls": {"mode": "STRICT"}}
    assert mesh.get("Namespace", "radref")["metadata"]["labels"]["istio-injection"] == "enabled"


def test_who_is_not_named_is_refused(mesh: Rendered) -> None:
    assert mesh.get("AuthorizationPolicy", "nothing")["spec"] == {}
    accounts = {f"cluster.local/ns/radref/sa/{a['metadata']['name']}" for a in mesh.of("ServiceAccount")}
    for pod in mesh.pods:
        if pod.owner["kind"] == "CronJob":
            continue
        (policy,) = policies_of(mesh, pod.labels)
        assert policy["action"] == "ALLOW"
        for rule in policy["rules"]:
            assert rule["from"]
            assert rule["to"]
            for source in rule["from"]:
                names = source["source"]
                assert set(names) in ({"principals"}, {"namespaces"})
                assert set(names.get("principals", [])) <= accounts
                assert names.get("namespaces", ["istio-ingress"]) == ["istio-ingress"]
            for target in rule["to"]:
                assert {int(port) for port in target["operation"]["ports"]} <= set(pod.ports.values())
    for policy in mesh.of("AuthorizationPolicy"):
        selector = policy["spec"].get("selector")
        assert selector is None or any(matches(selector, pod.labels) for pod in mesh.pods)


def test_paths_are_methods_that_exist_and_cover_all_of_them(mesh: Rendered) -> None:
    for service in API:
        known, allowed = methods(service), set()
        for policy in policies_of(mesh, mesh.pod(service).labels):
            for rule in policy["rules"]:
                for target in rule["to"]:
                    for path in target["operation"]["paths"]:
                        if path in ("/v1/*", "/openapi.json"):
                            continue
                        chosen = {
                            m for m in known if m == path or (path[-1] == "*" and m.startswith(path[:-1]))
                        }
                        assert chosen, f"{service}: {path}"
                        allowed |= chosen
        assert allowed == known, service


def test_only_ingestion_writes_the_index_and_the_gateway_only_reads_passages(mesh: Rendered) -> None:
    def paths(service: str, caller: str) -> set[str]:
        return {
            path
            for policy in policies_of(mesh, mesh.pod(service).labels)
            for rule in policy["rules"]
            if any(f"/sa/{caller}" in str(source) for source in rule["from"])
            for target in rule["to"]
            for path in target["operation"]["paths"]
        }

    assert not any("IndexService" in path for path in paths("retrieval", "gateway"))
    assert any("IndexService" in path for path in paths("retrieval", "ingest"))
    assert paths("ingest", "gateway") == {
        "/radref.api.ingest.v1.IngestService/GetPassage",
        "/grpc.health.v1.Health/*",
    }


def test_rules_are_for_services_that_exist(mesh: Rendered) -> None:
    ports = {
        (s["metadata"]["name"] + HOST, p["port"]) for s in mesh.of("Service") for p in s["spec"]["ports"]
    }
    hosts = {host for host, _ in ports}
    for rule in mesh.of("DestinationRule"):
        assert rule["spec"]["host"] in hosts
    for service in mesh.of("VirtualService"):
        for route in service["spec"]["http"]:
            for target in route["route"]:
                to = target["destination"]
                assert (to["host"], to["port"]["number"]) in ports, service["metadata"]["name"]


def test_every_called_service_has_limits_and_time_outs(mesh: Rendered) -> None:
    # Names for pods of a StatefulSet are no way in for callers.
    called = {s["metadata"]["name"] for s in mesh.of("Service")} - {"ingest-pods", "qdrant-pods"}
    limits = {r["metadata"]["name"]: r["spec"]["trafficPolicy"] for r in mesh.of("DestinationRule")}
    assert set(limits) == called
    for name, policy in limits.items():
        assert policy["connectionPool"]["tcp"]["maxConnections"] > 0
        assert policy["connectionPool"]["http"]["http2MaxRequests"] > 0
        # What is one pod for good has nothing that takes over; the others may be one pod on a small site.
        one_pod = name in ("retrieval", "triton", "vllm")
        assert ("outlierDetection" in policy) is not one_pod, name
        if not one_pod:
            assert policy["outlierDetection"]["minHealthPercent"] >= 50, name
    assert {s["metadata"]["name"] for s in mesh.of("VirtualService")} >= called


def test_the_mesh_never_tries_again(mesh: Rendered) -> None:
    for service in mesh.of("VirtualService"):
        for route in service["spec"]["http"]:
            assert route["retries"] == {"attempts": 0}, service["metadata"]["name"]
            assert "timeout" in route, service["metadata"]["name"]


def test_only_streams_that_last_have_no_time_out(mesh: Rendered) -> None:
    endless = [
        match["uri"]["prefix"]
        for service in mesh.of("VirtualService")
        for route in service["spec"]["http"]
        if route["timeout"] == "0s"
        for match in route["match"]
    ]
    assert set(endless) == {"/radref.api.ingest.v1.IngestService/WatchJob"}


def test_admin_ports_bypass_the_mesh(mesh: Rendered) -> None:
    for pod in mesh.pods:
        for name in ("admin", "metrics"):
            if name in pod.ports:
                excluded = pod.annotations["traffic.sidecar.istio.io/excludeInboundPorts"]
                assert excluded == str(pod.ports[name])
    routed = {
        target["destination"]["port"]["number"]
        for service in mesh.of("VirtualService")
        for route in service["spec"]["http"]
        for target in route["route"]
    }
    assert not routed & {p.ports["admin"] for p in mesh.pods if "admin" in p.ports}


def test_a_proxy_outlives_the_calls_of_its_service(mesh: Rendered) -> None:
    for pod in mesh.pods:
        assert pod.annotations["sidecar.istio.io/nativeSidecar"] == "true", pod.name


def test_without_a_mesh_nothing_of_it_is_rendered(tmp_path: Path) -> None:
    for overlay in ("cpu-dev", "onprem-gpu"):
        assert "istio" not in render(overlay, tmp_path).text.replace("sidecar.istio.io/inject", "")
