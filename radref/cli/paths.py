"""Where the one-machine installation keeps its data, and how commands find a running stack."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

DEFAULT_PORTS = {"gateway": 7100, "retrieval": 7101, "inference": 7102, "ingest": 7103}
DEFAULT_REST_PORT = 7180


@dataclass(frozen=True, slots=True)
class Addresses:
    """host:port of each service of a running stack, and the process id of `radref up`.

    `rest` is the gateway's REST facade; empty = off, or the stack is older.
    """

    gateway: str
    retrieval: str
    inference: str
    ingest: str
    pid: int = 0
    rest: str = ""

    def write(self, path: Path) -> None:
        """Atomically: a reader sees the whole file or none."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        temporary.replace(path)


def default_data_dir() -> Path:
    """RADREF_DATA_DIR, else radref/ in the user's data directory (XDG)."""
    if directory := os.environ.get("RADREF_DATA_DIR"):
        return Path(directory)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "radref"


def addresses_file(data_dir: Path) -> Path:
    return data_dir / "addresses.json"


def find_addresses(data_dir: Path) -> Addresses:
    """Of the stack that runs on this data directory; the default ports when none says so.

    RADREF_GATEWAY and RADREF_INGEST (host:port) win over both.
    """
    path = addresses_file(data_dir)
    if path.is_file():
        found = Addresses(**json.loads(path.read_text(encoding="utf-8")))
    else:
        default = {name: f"127.0.0.1:{port}" for name, port in DEFAULT_PORTS.items()}
        found = Addresses(default["gateway"], default["retrieval"], default["inference"], default["ingest"])
    return Addresses(
        gateway=os.environ.get("RADREF_GATEWAY", found.gateway),
        retrieval=found.retrieval,
        inference=found.inference,
        ingest=os.environ.get("RADREF_INGEST", found.ingest),
        pid=found.pid,
        rest=found.rest,
    )
