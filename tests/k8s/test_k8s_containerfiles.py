"""Images: small, of one service, of nobody's root, and the ones that the manifests name."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from collections import defaultdict
from typing import Any

import pytest

from tests.k8s.containerfile import Containerfile, all_containerfiles
from tests.k8s.manifests import ROOT, Rendered

FILES = all_containerfiles()
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(params=FILES.values(), ids=FILES.keys())
def file(request: pytest.FixtureRequest) -> Containerfile:
    found: Containerfile = request.param
    return found


def test_every_image_of_ours_has_a_containerfile(rendered: Rendered) -> None:
    for pod in rendered.pods:
        for container in pod.all_containers:
            found = re.search(r"(?:^|/)radref/([a-z-]+)[:@]", container["image"])
            if found:
                assert found.group(1) in FILES, container["image"]


def test_it_is_built_in_stages_on_a_base_pinned_by_digest(file: Containerfile) -> None:
    assert file.of("FROM") == ["${PYTHON_IMAGE} AS build", "${PYTHON_IMAGE}"]
    (base,) = [rest for rest in file.of("ARG") if rest.startswith("PYTHON_IMAGE=")]
    assert re.fullmatch(r"PYTHON_IMAGE=\S+:3\.11-slim-bookworm@sha256:[0-9a-f]{64}", base)


def test_it_runs_as_the_user_of_the_manifests(file: Containerfile, rendered: Rendered) -> None:
    (user,) = file.of("USER")
    uid, gid = user.split(":")
    after = [name for name, _ in file.instructions][[n for n, _ in file.instructions].index("USER") :]
    assert not {"RUN", "COPY", "ADD"} & set(after)
    for pod in rendered.pods:
        if any(f"radref/{file.name}" in c["image"] for c in pod.containers):
            security = pod.spec["securityContext"]
            assert (security["runAsUser"], security["runAsGroup"]) == (int(uid), int(gid))


def test_it_has_one_service_and_extras_that_exist(file: Containerfile) -> None:
    service = file.name.removesuffix("-remote")
    folder = "gateway" if service == "gateway" else f"{service}_svc"
    assert file.packages == ["radref", folder]
    assert file.module == f"{folder}.server"
    assert importlib.util.find_spec(file.module) is not None
    assert set(file.extras) <= set(PROJECT["optional-dependencies"])
    assert not {"embedded", "dev", "docling"} & set(file.extras)


def test_ports_are_those_of_the_pods(file: Containerfile, rendered: Rendered) -> None:
    exposed = {int(port) for rest in file.of("EXPOSE") for port in rest.split()}
    for pod in rendered.pods:
        if pod.owner["kind"] != "CronJob" and f"radref/{file.name}" in pod.containers[0]["image"]:
            assert set(pod.ports.values()) <= exposed


def test_a_package_has_one_requirement_in_all_extras() -> None:
    """Else an image could hold another release than the one that the tests ran with."""
    found: dict[str, set[str]] = defaultdict(set)
    for requirements in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()):
        for requirement in requirements:
            name, rest = re.fullmatch(r"([A-Za-z0-9._-]+(?:\[[^]]*\])?)(.*)", requirement).groups()  # type: ignore[union-attr]
            if not name.startswith("radref"):
                found[name.partition("[")[0]].add(rest)
    different = {name: rests for name, rests in found.items() if len(rests) > 1}
    # The services that only pass vectors on take an older one too.
    assert different.keys() <= {"numpy"}, different
