"""Every service would start with the settings it is given, and they fit the manifests around them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from gateway.settings import GatewaySettings
from inference_svc.settings import (
    InferenceSettings,
    OnnxEmbedderSettings,
    OpenAIGeneratorSettings,
    TritonEmbedderSettings,
    TritonRerankerSettings,
)
from ingest_svc.settings import IngestSettings
from radref.service.exposure import check_exposure
from radref.service.settings import ServiceSettings
from retrieval_svc.settings import RetrievalSettings
from retrieval_svc.store.settings import EdgeStoreSettings, QdrantStoreSettings
from tests.k8s.effective_settings import load_all
from tests.k8s.manifests import SERVICES, Pod, Rendered, matches

# docs/architecture.md, "What to know before running it": readers + 5, one for each document at work, and the
# 12 of the job queue.
INGEST_CONNECTIONS_BESIDE_READERS = 5 + 12
# gateway/audit/database.py: readers, writers and two more when all are busy.
GATEWAY_CONNECTIONS = 8


@pytest.fixture
def services(
    rendered: Rendered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, ServiceSettings]:
    return load_all(rendered, tmp_path, monkeypatch)


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def test_every_service_would_start(services: dict[str, ServiceSettings]) -> None:
    for settings in services.values():
        check_exposure(settings)


def test_ports_are_those_of_the_manifests(rendered: Rendered, services: dict[str, ServiceSettings]) -> None:
    for name, settings in services.items():
        ports = rendered.pod(name).ports
        assert settings.listen_address == f"0.0.0.0:{ports['grpc-api']}"
        assert settings.admin_address == f"0.0.0.0:{ports['admin']}"
        served = {port_of(address) for address in settings.served_addresses().values()}
        assert served == set(ports.values()) - {ports["admin"]}, name


def test_a_pod_is_killed_only_after_it_had_its_time(
    rendered: Rendered, services: dict[str, ServiceSettings]
) -> None:
    for name, settings in services.items():
        grace = rendered.pod(name).spec["terminationGracePeriodSeconds"]
        # Ten more for closing databases and the index.
        assert grace >= settings.drain_wait_seconds + settings.drain_grace_seconds + 10, name
    gateway = services["gateway"]
    assert isinstance(gateway, GatewaySettings)
    assert gateway.drain_grace_seconds > gateway.rest_max_timeout_seconds


def paths(model: BaseModel, name: str = "") -> Iterator[tuple[str, Path]]:
    """Every file and folder that settings name."""
    for field in type(model).model_fields:
        value = getattr(model, field)
        yield from _paths(value, f"{name}.{field}")


def _paths(value: Any, name: str) -> Iterator[tuple[str, Path]]:
    if isinstance(value, Path):
        yield name, value
    elif isinstance(value, BaseModel):
        yield from paths(value, name)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _paths(item, name)


def test_files_that_settings_name_are_mounted(
    rendered: Rendered, services: dict[str, ServiceSettings]
) -> None:
    for name, settings in services.items():
        (container,) = rendered.pod(name).containers
        mounts = [Path(mount["mountPath"]) for mount in container["volumeMounts"]]
        for setting, path in paths(settings, name):
            assert any(path.is_relative_to(mount) for mount in mounts), f"{setting}: {path} is in no volume"


def calls(services: dict[str, ServiceSettings]) -> Iterator[tuple[str, str]]:
    """(caller, host:port) of every call that settings name."""
    gateway, retrieval = services["gateway"], services["retrieval"]
    inference, ingest = services["inference"], services["ingest"]
    assert isinstance(gateway, GatewaySettings)
    assert isinstance(retrieval, RetrievalSettings)
    assert isinstance(inference, InferenceSettings)
    assert isinstance(ingest, IngestSettings)
    for target in (gateway.retrieval_target, gateway.inference_target, gateway.ingest_target):
        yield "gateway", target
    yield "retrieval", retrieval.inference_target
    yield from (("ingest", target) for target in (ingest.inference_target, ingest.retrieval_target))
    if isinstance(retrieval.store, QdrantStoreSettings):
        yield "retrieval", retrieval.store.target
    for part in (inference.embedder, inference.reranker):
        if isinstance(part, (TritonEmbedderSettings, TritonRerankerSettings)):
            yield "inference", part.target
    for generator in inference.generators:
        if isinstance(generator, OpenAIGeneratorSettings):
            yield "inference", generator.base_url.split("/")[2]


def open_between(rendered: Rendered, caller: Pod, callee: Pod, port: int) -> bool:
    """True where the policies of both sides let the caller reach the port."""

    def allowed(own: Pod, other: Pod, direction: str, side: str) -> bool:
        return any(
            {"protocol": "TCP", "port": port} in rule["ports"]
            and any(
                set(peer) == {"podSelector"} and matches(peer["podSelector"], other.labels)
                for peer in rule.get(side, [])
            )
            for policy in rendered.of("NetworkPolicy")
            if matches(policy["spec"]["podSelector"], own.labels)
            for rule in policy["spec"].get(direction, [])
        )

    return allowed(caller, callee, "egress", "to") and allowed(callee, caller, "ingress", "from")


def test_whom_a_service_calls_is_there_and_may_be_called(
    rendered: Rendered, services: dict[str, ServiceSettings]
) -> None:
    for caller, target in calls(services):
        host, _, port = target.rpartition(":")
        name, *rest = host.split(".")
        assert rest == ["radref", "svc"], target
        service = rendered.get("Service", name)
        (entry,) = [p for p in service["spec"]["ports"] if p["port"] == int(port)]
        (callee,) = [
            p for p in rendered.pods if matches({"matchLabels": service["spec"]["selector"]}, p.labels)
        ]
        container_port = callee.ports[entry["targetPort"]]
        # Headless: the number in the target is the pod's own.
        assert service["spec"].get("clusterIP") != "None" or container_port == int(port), target
        assert open_between(rendered, rendered.pod(caller), callee, container_port), f"{caller} -> {target}"


def test_certificates_hold_the_names_that_are_called_and_allowed(
    rendered: Rendered, services: dict[str, ServiceSettings]
) -> None:
    if rendered.in_mesh:
        assert {settings.tls.mode for settings in services.values()} == {"mesh"}
        return
    certificates = {c["metadata"]["name"]: c["spec"] for c in rendered.of("Certificate")}
    for caller, target in calls(services):
        host = target.rpartition(":")[0]
        if host == "triton.radref.svc":
            # Its client knows no TLS (docs/kubernetes.md).
            continue
        assert host in certificates[host.split(".")[0]]["dnsNames"], f"{caller} -> {target}"
    for name, settings in services.items():
        assert settings.tls.mode == "mtls"
        usages = certificates[name]["usages"]
        assert {"server auth", "client auth"} <= set(usages)
        callers = {c for c, target in calls(services) if target.startswith(f"{name}.")}
        assert set(settings.tls.allowed_peer_names) == {f"{c}.radref.svc" for c in callers}, name
        for volume in rendered.pod(name).spec["volumes"]:
            if volume["name"] == "tls":
                assert volume["secret"]["secretName"] == certificates[name]["secretName"]


def test_what_lasts_is_on_a_volume_that_lasts(
    rendered: Rendered, services: dict[str, ServiceSettings]
) -> None:
    gateway, retrieval, ingest = services["gateway"], services["retrieval"], services["ingest"]
    assert isinstance(gateway, GatewaySettings)
    assert isinstance(retrieval, RetrievalSettings)
    assert isinstance(ingest, IngestSettings)
    embedded = {
        "gateway": not gateway.audit.url.get_secret_value(),
        "retrieval": isinstance(retrieval.store, EdgeStoreSettings),
        "ingest": not ingest.registry.url.get_secret_value(),
    }
    for name, is_embedded in embedded.items():
        pod = rendered.pod(name)
        (data,) = [v for v in pod.spec["volumes"] if v["name"] == "data"]
        if is_embedded:
            assert "persistentVolumeClaim" in data, (
                f"{name} keeps its data in a volume that ends with the pod"
            )
            # Its files belong to one process: never two pods at once.
            assert pod.owner["spec"]["replicas"] == 1, name
            if pod.owner["kind"] == "Deployment":
                assert pod.owner["spec"]["strategy"]["type"] == "Recreate", name


def test_workers_have_stable_names_of_their_own(
    rendered: Rendered, services: dict[str, ServiceSettings]
) -> None:
    ingest = services["ingest"]
    assert isinstance(ingest, IngestSettings)
    assert rendered.pod("ingest").owner["kind"] == "StatefulSet"
    assert ingest.worker_id == "ingest-0"


def largest_number(rendered: Rendered, name: str) -> int:
    for scaler in rendered.of("HorizontalPodAutoscaler", "ScaledObject"):
        if scaler["spec"]["scaleTargetRef"]["name"] == name:
            spec = scaler["spec"]
            return int(spec.get("maxReplicas") or spec["maxReplicaCount"])
    return int(rendered.pod(name).owner["spec"]["replicas"])


def test_the_database_takes_the_connections_of_all_pods(
    rendered: Rendered, services: dict[str, ServiceSettings]
) -> None:
    for cluster in rendered.of("Cluster"):
        limit = int(cluster["spec"]["postgresql"]["parameters"]["max_connections"])
        ingest = services["ingest"]
        assert isinstance(ingest, IngestSettings)
        each = ingest.registry.readers + INGEST_CONNECTIONS_BESIDE_READERS + ingest.workers
        # While pods are replaced there is one gateway more; a quarter stays for people.
        most = largest_number(rendered, "ingest") * each + (largest_number(rendered, "gateway") + 1) * (
            GATEWAY_CONNECTIONS
        )
        assert most <= limit * 0.75


def test_an_embedder_in_process_uses_the_cpu_it_may_use(
    rendered: Rendered, services: dict[str, ServiceSettings]
) -> None:
    inference = services["inference"]
    assert isinstance(inference, InferenceSettings)
    (container,) = rendered.pod("inference").containers
    remote = not isinstance(inference.embedder, OnnxEmbedderSettings)
    if isinstance(inference.embedder, OnnxEmbedderSettings):
        assert inference.embedder.threads == int(container["resources"]["limits"]["cpu"])
    # The image with onnxruntime and the weights, or the one without.
    assert ("inference-remote" in container["image"]) is remote


def test_two_copies_of_the_index_on_three_machines(
    rendered: Rendered, services: dict[str, ServiceSettings]
) -> None:
    retrieval = services["retrieval"]
    assert isinstance(retrieval, RetrievalSettings)
    if isinstance(retrieval.store, QdrantStoreSettings):
        qdrant = rendered.pod("qdrant")
        assert qdrant.owner["spec"]["replicas"] == 3
        assert retrieval.store.replicas == 2
        rules = qdrant.spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert [rule["topologyKey"] for rule in rules] == ["kubernetes.io/hostname"]


def test_topics_of_ingestion_are_searched(services: dict[str, ServiceSettings]) -> None:
    retrieval, ingest = services["retrieval"], services["ingest"]
    assert isinstance(retrieval, RetrievalSettings)
    assert isinstance(ingest, IngestSettings)
    assert set(ingest.topics) == {*retrieval.topics, *retrieval.topics_on_request}


def test_generators_that_callers_may_name_exist(services: dict[str, ServiceSettings]) -> None:
    gateway, inference = services["gateway"], services["inference"]
    assert isinstance(gateway, GatewaySettings)
    assert isinstance(inference, InferenceSettings)
    assert set(gateway.models) <= {generator.id for generator in inference.generators}
    assert not gateway.rerank or isinstance(inference.reranker, TritonRerankerSettings)


def test_all_four_are_there(rendered: Rendered) -> None:
    assert {pod.name for pod in rendered.pods} >= set(SERVICES)
