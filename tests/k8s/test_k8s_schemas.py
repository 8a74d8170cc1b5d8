"""Kubernetes and the operators would take what is rendered: every field is known and of the right type."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from tests.k8s.manifests import ROOT, Manifest, Rendered

SCHEMAS = ROOT.parent / "shared" / "data" / "crd-schemas"
_NO_SCHEMA = re.compile(r"Couldn't find schema for kind (\S+) with api version (\S+)")


def is_custom(manifest: Manifest) -> bool:
    """True for resources that an operator defines."""
    group = manifest["apiVersion"].rpartition("/")[0]
    return "." in group and not group.endswith(".k8s.io")


def test_kubernetes_knows_every_field(rendered: Rendered) -> None:
    custom = {(d["kind"], d["apiVersion"]) for d in rendered.documents if is_custom(d)}
    done = subprocess.run(
        [sys.executable, "-m", "kubernetes_validate", "--strict", "--quiet", "-"],
        input=rendered.text,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    unexplained = []
    for line in lines:
        unknown = _NO_SCHEMA.search(line)
        if not (unknown and unknown.groups() in custom):
            unexplained.append(line)
    assert not unexplained, "\n".join(unexplained)
    assert done.returncode == 0


@cache
def schema_of(path: Path) -> dict[str, object]:
    loaded: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


@pytest.mark.data
def test_operators_know_every_field(rendered: Rendered) -> None:
    if not SCHEMAS.is_dir():
        pytest.skip(f"{SCHEMAS} is not here: custom resources are not checked")
    faults = []
    for manifest in filter(is_custom, rendered.documents):
        group, _, version = manifest["apiVersion"].rpartition("/")
        path = SCHEMAS / group / f"{manifest['kind'].lower()}_{version}.json"
        assert path.is_file(), f"no schema for {manifest['kind']} ({manifest['apiVersion']})"
        # The operators refuse unknown fields; the schemas say so below spec.
        assert set(manifest) <= {"apiVersion", "kind", "metadata", "spec"}
        name = f"{manifest['kind']}/{manifest['metadata']['name']}"
        faults += [
            f"{name}: {list(error.absolute_path)}: {error.message}"
            for error in jsonschema.Draft7Validator(schema_of(path)).iter_errors(manifest)
        ]
    assert not faults, "\n".join(faults)
