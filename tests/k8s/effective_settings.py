"""What each container would start with: its file and variables, read by the service's own settings class."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gateway.settings import GatewaySettings
from inference_svc.settings import InferenceSettings
from ingest_svc.settings import IngestSettings
from radref.service.settings import ServiceSettings
from retrieval_svc.settings import RetrievalSettings
from tests.k8s.manifests import SERVICES, Pod, Rendered

CLASSES: dict[str, type[ServiceSettings]] = {
    "gateway": GatewaySettings,
    "retrieval": RetrievalSettings,
    "inference": InferenceSettings,
    "ingest": IngestSettings,
}
# What the Secrets of the cluster hold, by name and key.
SECRETS = {("radref-db-app", "uri"): "postgresql://radref:secret@radref-db-rw.radref:5432/radref"}


def environment(rendered: Rendered, pod: Pod) -> dict[str, str]:
    """Variables of the pod's one container."""
    (container,) = pod.containers
    found: dict[str, str] = {}
    for source in container.get("envFrom", []):
        found |= rendered.get("ConfigMap", source["configMapRef"]["name"])["data"]
    for variable in container.get("env", []):
        found[variable["name"]] = _value(variable, pod)
    return found


def _value(variable: dict[str, Any], pod: Pod) -> str:
    if "value" in variable:
        return str(variable["value"])
    source = variable["valueFrom"]
    if "fieldRef" in source:
        assert source["fieldRef"]["fieldPath"] == "metadata.name"
        return f"{pod.name}-0"
    secret = source["secretKeyRef"]
    return SECRETS[secret["name"], secret["key"]]


def settings_file(rendered: Rendered, pod: Pod, path: str) -> str:
    """Text of a file that a ConfigMap puts into the pod's container."""
    (container,) = pod.containers
    folder, _, name = path.rpartition("/")
    (mount,) = [m for m in container["volumeMounts"] if m["mountPath"] == folder]
    (volume,) = [v for v in pod.spec["volumes"] if v["name"] == mount["name"]]
    return str(rendered.get("ConfigMap", volume["configMap"]["name"])["data"][name])


def load_all(rendered: Rendered, work: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, ServiceSettings]:
    """The settings of all four services. Fails where one would refuse to start."""
    loaded = {}
    for name in SERVICES:
        pod = rendered.pod(name)
        variables = environment(rendered, pod)
        file = work / f"{name}.yaml"
        file.write_text(settings_file(rendered, pod, variables["RADREF_CONFIG"]), encoding="utf-8")
        with monkeypatch.context() as context:
            for key in [key for key in os.environ if key.startswith("RADREF_")]:
                context.delenv(key)
            for key, value in variables.items():
                context.setenv(key, value)
            loaded[name] = CLASSES[name].load(file)
    return loaded
