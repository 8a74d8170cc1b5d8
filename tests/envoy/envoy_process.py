"""A real Envoy as a child process, on ports that the system chose."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.envoy.envoy_config import Door, Json, configuration
from tests.service.service_process import until

STOP_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Envoy:
    """A running proxy."""

    http: httpx.Client
    addresses: dict[str, str]

    def address(self, door: str) -> str:
        """host:port of a door."""
        return self.addresses[door]

    def stat(self, name: str) -> int:
        """A counter or gauge by its full name; 0 while Envoy has not made it yet."""
        stats = self.http.get("/stats", params={"format": "json", "filter": f"^{name}$"}).json()["stats"]
        return next((int(one["value"]) for one in stats if one.get("name") == name), 0)

    def wait(self, name: str, value: int) -> None:
        """Waits until a counter or gauge has this value."""
        until(lambda: self.stat(name) == value)

    def healthy(self, cluster: str) -> int:
        """How many replicas get calls."""
        return self.stat(f"cluster.{cluster}.membership_healthy")


def envoy_binary() -> str:
    return os.environ["RADREF_ENVOY"]


def validate(path: Path) -> str:
    """Empty when Envoy accepts the configuration, else what it says."""
    checked = subprocess.run(
        [envoy_binary(), "--mode", "validate", "--config-path", str(path), "--log-level", "error"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return "" if checked.returncode == 0 else checked.stderr or "refused"


def written(folder: Path, content: Json, name: str = "envoy.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(content, indent=2), "utf-8")
    return path


@contextmanager
def running_envoy(folder: Path, *doors: Door) -> Iterator[Envoy]:
    """Validates the configuration as a site's pipeline would, starts, and ends with the block.

    Args:
        folder: for configuration, log and the admin port's address; one Envoy at a time.
    """
    config = written(folder, configuration(doors))
    assert validate(config) == ""
    admin, log = folder / "admin-address", folder / "envoy.log"
    admin.unlink(missing_ok=True)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *(envoy_binary(), "--config-path", str(config), "--log-level", "warning"),
                # Several may run at once, and two threads are enough.
                *("--disable-hot-restart", "--concurrency", "2", "--admin-address-path", str(admin)),
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
        )

    def alive() -> None:
        assert process.poll() is None, log.read_text("utf-8", "replace")

    def has_admin() -> bool:
        alive()
        return admin.exists() and ":" in admin.read_text()

    try:
        until(has_admin)
        with httpx.Client(base_url=f"http://{admin.read_text()}", timeout=30.0, trust_env=False) as http:

            def ready() -> bool:
                alive()
                return http.get("/ready").status_code == 200

            until(ready)
            yield Envoy(http, _listening(http, doors))
            alive()
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _listening(http: httpx.Client, doors: Sequence[Door]) -> dict[str, str]:
    found = {
        one["name"]: one["local_address"]["socket_address"]
        for one in http.get("/listeners", params={"format": "json"}).json()["listener_statuses"]
    }
    return {door.name: f"{found[door.name]['address']}:{found[door.name]['port_value']}" for door in doors}
