"""The PodMonitors give their targets the `job` that dashboards and alerts ask for."""

from __future__ import annotations

import pytest
import yaml

from monitoring import names
from tests.monitoring.queries import ROOT

POD_MONITORS = ROOT / "k8s/components/monitoring/pod-monitors.yaml"


def test_pod_monitors_name_the_jobs() -> None:
    if not POD_MONITORS.is_file():
        pytest.skip(f"no PodMonitors here: {POD_MONITORS}")
    monitors = list(yaml.safe_load_all(POD_MONITORS.read_text("utf-8")))
    jobs = {
        relabeling["replacement"]
        for monitor in monitors
        for endpoint in monitor["spec"]["podMetricsEndpoints"]
        for relabeling in endpoint.get("relabelings", [])
        if relabeling["targetLabel"] == "job"
    }
    assert {*names.SERVICES, names.TRITON, names.VLLM} <= jobs
