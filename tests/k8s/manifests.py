"""What the tests know of a rendered set of manifests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
OVERLAYS = ("cpu-dev", "onprem-gpu", "istio")
SERVICES = ("gateway", "retrieval", "inference", "ingest")
NAME_LABEL = "app.kubernetes.io/name"
# Pods that an operator makes of a custom resource: not in what kustomize prints.
OPERATORS_PODS = ({"cnpg.io/cluster": "radref-db", NAME_LABEL: "radref-db"},)

# What a site may put together besides the overlays; each is rendered on the base.
COMBINATIONS: dict[str, tuple[str, ...]] = {
    "gpu, own database": (
        *("components/qdrant", "components/postgres-external", "components/gpu-models"),
        *("components/monitoring", "components/certificates", "components/qdrant-certificates"),
        *("components/gpu-certificates", "site"),
    ),
    "mesh, own database": (
        *("components/qdrant", "components/postgres-external", "components/gpu-models"),
        *("components/autoscaling", "site", "components/mesh", "components/mesh-backends"),
    ),
    "servers without GPU": (
        *("components/qdrant", "components/postgres-cnpg", "components/autoscaling"),
        *("components/monitoring", "components/certificates", "components/qdrant-certificates", "site"),
    ),
    "embedded in a mesh": ("components/embedded", "components/monitoring", "site", "components/mesh"),
    "embedded, open to the hospital": (
        *("components/embedded", "components/monitoring", "components/load-balancer"),
        *("components/certificates", "site"),
    ),
    "GPU beside embedded stores": (
        *("components/embedded", "components/gpu-models", "components/certificates"),
        *("components/gpu-certificates", "site"),
    ),
}
VARIANTS = (*OVERLAYS, *COMBINATIONS)

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod template and what makes pods of it."""

    owner: Manifest
    labels: dict[str, str]
    annotations: dict[str, str]
    spec: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.owner["metadata"]["name"])

    @property
    def containers(self) -> list[dict[str, Any]]:
        return list(self.spec["containers"])

    @property
    def all_containers(self) -> list[dict[str, Any]]:
        return [*self.spec.get("initContainers", []), *self.spec["containers"]]

    @property
    def ports(self) -> dict[str, int]:
        """Port numbers by name."""
        return {port["name"]: port["containerPort"] for c in self.containers for port in c.get("ports", [])}


class Rendered:
    """The manifests of one variant."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.documents: list[Manifest] = [d for d in yaml.safe_load_all(text) if d]

    def of(self, *kinds: str) -> list[Manifest]:
        return [d for d in self.documents if d["kind"] in kinds]

    def get(self, kind: str, name: str) -> Manifest:
        (found,) = [d for d in self.of(kind) if d["metadata"]["name"] == name]
        return found

    def find(self, kind: str, name: str) -> Manifest | None:
        return next((d for d in self.of(kind) if d["metadata"]["name"] == name), None)

    @property
    def pods(self) -> list[Pod]:
        return list(self._pods())

    def pod(self, name: str) -> Pod:
        (found,) = [pod for pod in self.pods if pod.name == name]
        return found

    def _pods(self) -> Iterator[Pod]:
        for owner in self.of("Deployment", "StatefulSet", "CronJob"):
            spec = owner["spec"]
            template = (
                spec["jobTemplate"]["spec"]["template"] if owner["kind"] == "CronJob" else spec["template"]
            )
            metadata = template["metadata"]
            yield Pod(owner, metadata["labels"], metadata.get("annotations", {}), template["spec"])

    @property
    def in_mesh(self) -> bool:
        return bool(self.of("PeerAuthentication"))


def matches(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """True where a label selector of Kubernetes chooses the labels; an empty one chooses all."""
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    for rule in selector.get("matchExpressions", []):
        assert rule["operator"] == "In", "only In is used here"
        if labels.get(rule["key"]) not in rule["values"]:
            return False
    return True


def kubectl() -> str:
    """Path of kubectl; skips without it, but not in CI, where the install step must have brought it."""
    found = os.environ.get("RADREF_KUBECTL") or shutil.which("kubectl")
    if found:
        return found
    message = "no kubectl: `make test` brings one (scripts/kubectl.sh)"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


def kustomize(folder: Path) -> str:
    done = subprocess.run(
        [kubectl(), "kustomize", str(folder)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "deprecated" not in done.stderr.lower(), done.stderr
    return done.stdout


def render(variant: str, work: Path) -> Rendered:
    """Renders an overlay where it is, a combination in a copy of k8s/."""
    if variant in OVERLAYS:
        return Rendered(kustomize(ROOT / "k8s" / "overlays" / variant))
    copy = work / "k8s"
    shutil.copytree(ROOT / "k8s", copy)
    overlay = copy / "overlays" / "combination"
    overlay.mkdir()
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": "radref",
        "labels": [{"pairs": {"app.kubernetes.io/part-of": "radref"}, "includeTemplates": True}],
        "resources": ["../../base"],
        "components": [f"../../{part}" for part in COMBINATIONS[variant]],
    }
    (overlay / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
    return Rendered(kustomize(overlay))
