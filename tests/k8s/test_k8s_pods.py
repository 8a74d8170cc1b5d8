"""Rules for every pod: what it may use, how it is watched, that it can do no harm."""

from __future__ import annotations

import re

import pytest

from tests.k8s.manifests import NAME_LABEL, OVERLAYS, Pod, Rendered, matches, render

_QUANTITY = {"": 1, "m": 0.001, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def quantity(value: object) -> float:
    number, unit = re.fullmatch(r"([0-9.]+)(m|Ki|Mi|Gi)?", str(value)).groups()  # type: ignore[union-attr]
    return float(number) * _QUANTITY[unit or ""]


def test_every_container_has_requests_and_limits(rendered: Rendered) -> None:
    for pod in rendered.pods:
        for container in pod.all_containers:
            resources, where = container["resources"], f"{pod.name}/{container['name']}"
            for name in ("cpu", "memory"):
                assert name in resources["requests"], where
                assert quantity(resources["requests"][name]) <= quantity(resources["limits"][name]), where


def test_every_long_running_container_has_probes_on_ports_that_it_has(rendered: Rendered) -> None:
    for pod in rendered.pods:
        if pod.owner["kind"] == "CronJob":
            continue
        for container in pod.containers:
            ports = {port["name"] for port in container["ports"]}
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                where = f"{pod.name}/{container['name']} {probe}"
                assert probe in container, where
                if "httpGet" in container[probe]:
                    assert container[probe]["httpGet"]["port"] in ports, where
                else:
                    assert container[probe]["exec"]["command"], where


def test_liveness_never_waits_for_others(rendered: Rendered) -> None:
    for name in ("gateway", "retrieval", "inference", "ingest"):
        (container,) = rendered.pod(name).containers
        assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
        assert container["startupProbe"]["httpGet"]["path"] == "/livez"
        assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_a_start_may_take_minutes_where_weights_are_loaded(rendered: Rendered) -> None:
    for name, minutes in (("triton", 15), ("vllm", 30), ("inference", 5), ("ingest", 10)):
        for pod in rendered.pods:
            if pod.name == name:
                probe = pod.containers[0]["startupProbe"]
                assert probe["periodSeconds"] * probe["failureThreshold"] >= minutes * 60, name


def test_pods_pass_the_restricted_profile(rendered: Rendered) -> None:
    namespace = rendered.get("Namespace", "radref")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    for pod in rendered.pods:
        security = pod.spec["securityContext"]
        assert security["runAsNonRoot"] is True
        assert security["runAsUser"] > 0
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        for key in ("hostNetwork", "hostPID", "hostIPC"):
            assert not pod.spec.get(key), pod.name
        for volume in pod.spec.get("volumes", []):
            assert "hostPath" not in volume, pod.name
        for container in pod.all_containers:
            own = container["securityContext"]
            where = f"{pod.name}/{container['name']}"
            assert own["allowPrivilegeEscalation"] is False, where
            assert own["readOnlyRootFilesystem"] is True, where
            assert own["capabilities"] == {"drop": ["ALL"]}, where
            assert "privileged" not in own, where


def test_no_pod_may_call_the_clusters_api(rendered: Rendered) -> None:
    accounts = {a["metadata"]["name"]: a for a in rendered.of("ServiceAccount")}
    for pod in rendered.pods:
        assert pod.spec["automountServiceAccountToken"] is False, pod.name
        assert accounts[pod.spec["serviceAccountName"]]["automountServiceAccountToken"] is False
    users = [pod.spec["serviceAccountName"] for pod in rendered.pods]
    assert len(set(users)) == len(users), "two workloads share an identity"
    assert not rendered.of("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")


def test_variables_of_services_are_not_taken_for_settings(rendered: Rendered) -> None:
    """A Service named radref-gateway would set RADREF_GATEWAY_PORT, which is no setting and so refused."""
    for pod in rendered.pods:
        assert pod.spec["enableServiceLinks"] is False, pod.name


def test_every_pod_has_a_priority_that_exists(rendered: Rendered) -> None:
    classes = {c["metadata"]["name"] for c in rendered.of("PriorityClass")}
    for pod in rendered.pods:
        assert pod.spec["priorityClassName"] in classes, pod.name


def test_copies_are_spread_over_machines(rendered: Rendered) -> None:
    for pod in rendered.pods:
        if pod.owner["kind"] == "CronJob":
            continue
        constraints = pod.spec["topologySpreadConstraints"]
        assert constraints, pod.name
        for constraint in constraints:
            assert matches(constraint["labelSelector"], pod.labels), pod.name


def test_selectors_choose_their_own_pods_and_no_others(rendered: Rendered) -> None:
    pods = rendered.pods
    for pod in pods:
        if pod.owner["kind"] == "CronJob":
            continue
        selector = pod.owner["spec"]["selector"]
        assert [other.name for other in pods if matches(selector, other.labels)] == [pod.name]
        assert pod.labels[NAME_LABEL] == pod.name
        assert pod.labels["app.kubernetes.io/part-of"] == "radref"


def test_mounts_and_references_exist(rendered: Rendered) -> None:
    """Volumes of mounts, generated ConfigMaps, claims. Secrets and dev keys are made by the site (docs)."""
    maps = {m["metadata"]["name"] for m in rendered.of("ConfigMap")}
    claims = {c["metadata"]["name"] for c in rendered.of("PersistentVolumeClaim")}
    for pod in rendered.pods:
        volumes = {v["name"]: v for v in pod.spec.get("volumes", [])}
        templates = {t["metadata"]["name"] for t in pod.owner["spec"].get("volumeClaimTemplates", [])}
        for container in pod.all_containers:
            paths = [mount["mountPath"] for mount in container.get("volumeMounts", [])]
            assert len(set(paths)) == len(paths), pod.name
            for mount in container.get("volumeMounts", []):
                assert mount["name"] in volumes.keys() | templates, f"{pod.name}: {mount['name']}"
            for source in container.get("envFrom", []):
                assert source["configMapRef"]["name"] in maps, pod.name
        mounted = {m["name"] for c in pod.all_containers for m in c.get("volumeMounts", [])}
        assert volumes.keys() <= mounted, f"{pod.name}: a volume that nobody mounts"
        for volume in volumes.values():
            sources = [key for key in volume if key != "name"]
            assert len(sources) == 1, f"{pod.name}: {volume}"
            if "configMap" in volume:
                assert volume["configMap"]["name"] in maps | {"radref-dev-keys"}, pod.name
            if "persistentVolumeClaim" in volume:
                assert volume["persistentVolumeClaim"]["claimName"] in claims, pod.name
            if "emptyDir" in volume:
                assert "sizeLimit" in volume["emptyDir"], f"{pod.name}: {volume['name']}"
            if "secret" in volume:
                assert volume["secret"]["defaultMode"] == 0o400, f"{pod.name}: {volume['name']}"


def test_gpu_pods_ask_for_a_gpu_where_there_is_one(rendered: Rendered) -> None:
    for pod in rendered.pods:
        wants = [c["resources"]["limits"].get("nvidia.com/gpu") for c in pod.containers]
        if pod.name not in ("triton", "vllm"):
            assert wants == [None] * len(wants), pod.name
            continue
        assert wants == ["1"]
        assert pod.spec["nodeSelector"] == {"nvidia.com/gpu.present": "true"}
        assert {t["key"] for t in pod.spec["tolerations"]} == {"nvidia.com/gpu"}
        mount = next(m for m in pod.containers[0]["volumeMounts"] if m["name"] == "models")
        assert mount["readOnly"] is True
        # The old pod must let go of its GPU before the new one can start.
        assert pod.owner["spec"]["strategy"]["rollingUpdate"]["maxSurge"] == 0


def image_parts(image: str) -> tuple[str, str, str]:
    """Name, tag and digest of an image; empty where there is none."""
    name, _, digest = image.partition("@")
    path, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        path, tag = name, ""
    return path, tag, digest


def all_images(rendered: Rendered) -> list[str]:
    pods: list[Pod] = rendered.pods
    databases = [c["spec"]["imageName"] for c in rendered.of("Cluster")]
    return [c["image"] for pod in pods for c in pod.all_containers] + databases


def test_images_have_a_tag_or_digest_and_never_latest(rendered: Rendered) -> None:
    for image in all_images(rendered):
        _, tag, digest = image_parts(image)
        assert digest or tag, image
        assert "latest" not in tag, image


@pytest.mark.parametrize("overlay", [o for o in OVERLAYS if o != "cpu-dev"])
def test_production_pins_images_by_digest_in_the_sites_registry(overlay: str, tmp_path: object) -> None:
    rendered = render(overlay, tmp_path)  # type: ignore[arg-type]
    for pod in rendered.pods:
        for container in pod.all_containers:
            path, _, digest = image_parts(container["image"])
            assert path.startswith("registry.hospital.example/"), container["image"]
            assert re.fullmatch(r"sha256:[0-9a-f]{64}", digest), container["image"]
