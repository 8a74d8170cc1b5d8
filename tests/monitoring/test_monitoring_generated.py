"""What is committed is what the source makes, and Grafana and the Prometheus operator can read it."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from monitoring.dashboards.board import Unit
from monitoring.generate import ALERTS, DASHBOARDS, files, stale
from tests.monitoring.queries import ROOT, panels

SCHEMA = ROOT.parent / "shared/data/crd-schemas/monitoring.coreos.com/prometheusrule_v1.json"


def test_committed_files_are_fresh() -> None:
    assert stale(files()) == [], "run `make monitoring`"


def test_a_changed_a_missing_and_a_left_over_file_are_stale(tmp_path: Path) -> None:
    wanted = {DASHBOARDS / "a.json": "a", DASHBOARDS / "b.json": "b"}
    (tmp_path / DASHBOARDS).mkdir(parents=True)
    (tmp_path / DASHBOARDS / "a.json").write_text("other")
    (tmp_path / DASHBOARDS / "c.json").write_text("c")
    assert stale(wanted, tmp_path) == [DASHBOARDS / name for name in ("a.json", "b.json", "c.json")]


# Beside them lies kustomize's list of them.
RESOURCES = [path for path in sorted((ROOT / ALERTS).glob("*.yaml")) if path.name != "kustomization.yaml"]


@pytest.mark.parametrize("path", RESOURCES, ids=lambda path: path.name)
def test_prometheus_rules_are_valid_custom_resources(path: Path) -> None:
    if not SCHEMA.is_file():
        pytest.skip(f"the schema of PrometheusRule is not here: {SCHEMA}")
    resource = yaml.safe_load(path.read_text("utf-8"))
    schema = json.loads(SCHEMA.read_text("utf-8"))
    # Not `jsonschema.validate`: it wants Python's regular expressions, and one of the schema is Go's.
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(resource)
    assert resource["kind"] == "PrometheusRule"
    # The schema must be one that refuses: else this test says nothing.
    resource["spec"]["groups"][0]["rules"][0]["expr"] = ["not", "a", "query"]
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(resource)


@pytest.mark.parametrize(("where", "panel"), panels(), ids=[where for where, _ in panels()])
def test_every_panel_has_a_unit_a_description_and_a_legend(where: str, panel: dict[str, Any]) -> None:
    assert panel["fieldConfig"]["defaults"]["unit"] in list(Unit)
    assert len(panel["description"]) > 5
    assert panel["targets"]
    assert all(target["legendFormat"] for target in panel["targets"])
    assert panel["datasource"]["uid"] == "${datasource}"


@pytest.mark.parametrize("path", sorted((ROOT / DASHBOARDS).glob("*.json")), ids=lambda path: path.name)
def test_panels_have_a_place_and_an_id_of_their_own(path: Path) -> None:
    board = json.loads(path.read_text("utf-8"))
    assert board["uid"] == path.stem
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    for one, other in combinations(board["panels"], 2):
        assert not _overlap(one["gridPos"], other["gridPos"]), f"{one['title']} lies on {other['title']}"
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in board["panels"])


def _overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    across = one["x"] < other["x"] + other["w"] and other["x"] < one["x"] + one["w"]
    return across and one["y"] < other["y"] + other["h"] and other["y"] < one["y"] + one["h"]
