"""Budgets, autoscalers and monitors choose what exists."""

from __future__ import annotations

import re

import pytest
import yaml

from radref.service import metrics
from tests.k8s.manifests import ROOT, Rendered, matches


def metric_names() -> set[str]:
    """Names as Prometheus shows them, of the metrics that the service kit defines."""
    found = set()
    for metric in vars(metrics).values():
        describe = getattr(metric, "describe", None)
        if callable(describe) and not isinstance(metric, type):
            found |= {sample.name for sample in describe()}
    return found


def test_every_running_pod_has_a_budget_that_lets_nodes_be_emptied(rendered: Rendered) -> None:
    budgets = rendered.of("PodDisruptionBudget")
    pods = [pod for pod in rendered.pods if pod.owner["kind"] != "CronJob"]
    for pod in pods:
        own = [b for b in budgets if matches(b["spec"]["selector"], pod.labels)]
        assert len(own) == 1, pod.name
        assert own[0]["spec"]["maxUnavailable"] == 1, pod.name
    for budget in budgets:
        chosen = [pod for pod in pods if matches(budget["spec"]["selector"], pod.labels)]
        assert len(chosen) == 1, budget["metadata"]["name"]


def test_autoscalers_have_a_target_whose_number_they_alone_set(rendered: Rendered) -> None:
    for scaler in rendered.of("HorizontalPodAutoscaler", "ScaledObject"):
        target = scaler["spec"]["scaleTargetRef"]
        owner = rendered.get(target["kind"], target["name"])
        assert "replicas" not in owner["spec"], target["name"]
    scaled = {
        s["spec"]["scaleTargetRef"]["name"] for s in rendered.of("HorizontalPodAutoscaler", "ScaledObject")
    }
    for pod in rendered.pods:
        if pod.owner["kind"] != "CronJob" and pod.name not in scaled:
            assert pod.owner["spec"]["replicas"] >= 1, pod.name


def test_autoscalers_use_metrics_that_the_services_have(rendered: Rendered) -> None:
    names = metric_names()
    for scaler in rendered.of("HorizontalPodAutoscaler"):
        for metric in scaler["spec"]["metrics"]:
            assert metric["pods"]["metric"]["name"] in names
    for scaler in rendered.of("ScaledObject"):
        for trigger in scaler["spec"]["triggers"]:
            assert any(name in trigger["metadata"]["query"] for name in names)


def test_retrieval_is_one_process(rendered: Rendered) -> None:
    """It holds the catalogue of active versions in memory (docs/vector-store.md)."""
    spec = rendered.get("Deployment", "retrieval")["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"] == {"type": "Recreate"}
    scaled = {
        s["spec"]["scaleTargetRef"]["name"] for s in rendered.of("HorizontalPodAutoscaler", "ScaledObject")
    }
    assert "retrieval" not in scaled


def test_monitors_choose_a_pod_and_a_port_of_it(rendered: Rendered) -> None:
    monitors = rendered.of("PodMonitor")
    watched = set()
    for monitor in monitors:
        chosen = [pod for pod in rendered.pods if matches(monitor["spec"]["selector"], pod.labels)]
        for pod in chosen:
            for endpoint in monitor["spec"]["podMetricsEndpoints"]:
                in_proxy = rendered.in_mesh and endpoint.get("portNumber") == 15020
                assert in_proxy or endpoint["port"] in pod.ports, monitor["metadata"]["name"]
            watched.add(pod.name)
    if monitors:
        assert watched == {pod.name for pod in rendered.pods if pod.owner["kind"] != "CronJob"}


def test_alerts_and_dashboards_ask_for_jobs_that_are_scraped(rendered: Rendered) -> None:
    monitors = rendered.of("PodMonitor")
    if not monitors:
        pytest.skip("this variant has no monitoring")
    jobs = {
        rule["replacement"]
        for monitor in monitors
        for endpoint in monitor["spec"]["podMetricsEndpoints"]
        for rule in endpoint["relabelings"]
        if rule["targetLabel"] == "job"
    }
    assert len(jobs) == len(monitors)
    asked = {
        job
        for folder in ("alerts", "dashboards")
        for file in (ROOT / "k8s" / "base" / folder).iterdir()
        for match in re.findall(r'\bjob=~?\\?"([^"\\]+)', file.read_text(encoding="utf-8"))
        for job in match.split("|")
    }
    for pattern in asked:
        assert any(re.fullmatch(pattern, job) for job in jobs), pattern


def test_every_dashboard_and_every_alert_is_listed() -> None:
    base = ROOT / "k8s" / "base"
    alerts = yaml.safe_load((base / "alerts" / "kustomization.yaml").read_text(encoding="utf-8"))
    files = {p.name for p in (base / "alerts").glob("*.yaml")} - {"kustomization.yaml"}
    assert set(alerts.get("resources") or []) == files
    dashboards = yaml.safe_load((base / "dashboards" / "kustomization.yaml").read_text(encoding="utf-8"))
    listed = [file for entry in dashboards.get("configMapGenerator") or [] for file in entry["files"]]
    assert sorted(listed) == sorted(p.name for p in (base / "dashboards").glob("*.json"))
