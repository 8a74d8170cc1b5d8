"""A real Prometheus as a child process, with the committed rules."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.monitoring.queries import RULE_FILES

START_SECONDS = 60.0
STOP_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running server."""

    http: httpx.Client

    def query(self, expr: str) -> list[dict[str, Any]]:
        """Samples of an instant query, now.

        Raises:
            AssertionError: Prometheus does not accept it.
        """
        return self._get("/api/v1/query", query=expr)["result"]  # type: ignore[no-any-return]

    def rules(self) -> list[dict[str, Any]]:
        """All rules with their health."""
        return [rule for group in self._get("/api/v1/rules")["groups"] for rule in group["rules"]]

    def _get(self, path: str, **parameters: str) -> dict[str, Any]:
        answer = self.http.get(path, params=parameters).json()
        assert answer["status"] == "success", f"{parameters}: {answer.get('error')}"
        found: dict[str, Any] = answer["data"]
        return found


@contextmanager
def running_prometheus(folder: Path, targets: Mapping[str, str]) -> Iterator[Prometheus]:
    """Scrapes and evaluates once a second; ended at the end.

    Args:
        folder: an empty one for configuration, data and log.
        targets: host:port by job.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    log = folder / "prometheus.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={_configuration(folder, targets)}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={address}",
                "--enable-feature=exemplar-storage",
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        with httpx.Client(base_url=f"http://{address}", timeout=30.0, trust_env=False) as http:
            _wait_ready(process, http, log)
            yield Prometheus(http)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _configuration(folder: Path, targets: Mapping[str, str]) -> Path:
    rules = folder / "rules"
    rules.mkdir()
    for path in RULE_FILES.glob("*.yaml"):
        content = yaml.safe_load(path.read_text("utf-8"))
        for group in content["groups"]:
            group["interval"] = "1s"
        (rules / path.name).write_text(json.dumps(content), "utf-8")
    configuration = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules / "*.yaml")],
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": [target], "labels": {"namespace": "radref"}}]}
            for job, target in targets.items()
        ],
    }
    path = folder / "prometheus.yaml"
    # JSON is YAML.
    path.write_text(json.dumps(configuration), "utf-8")
    return path


def _wait_ready(process: subprocess.Popen[bytes], http: httpx.Client, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text("utf-8", "replace")
        try:
            if http.get("/-/ready").status_code == 200:
                return
        except httpx.TransportError:
            pass  # not listening yet
        time.sleep(0.1)
    raise AssertionError(f"Prometheus was not ready\n{log.read_text('utf-8', 'replace')}")


def installed() -> bool:
    """Whether Debian's package prometheus, or another build, is here."""
    return shutil.which("prometheus") is not None
