"""The script of the snapshot job against a server that answers as Qdrant does."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from urllib.parse import urlsplit

import pytest

from tests.k8s.manifests import ROOT

COLLECTIONS = ["other-things", "radref-first-safety", "radref-first-catalogue", "radref-generations"]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = ROOT / "k8s" / "components" / "qdrant" / "snapshots.py"
    specification = importlib.util.spec_from_file_location("qdrant_snapshots", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


class Qdrant:
    """One node: collections and their snapshots."""

    def __init__(self) -> None:
        self.snapshots: dict[str, list[str]] = {name: [] for name in COLLECTIONS}
        self.calls: list[str] = []
        self.keys: set[str | None] = set()
        self.broken = ""
        node = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                path = urlsplit(self.path).path
                node.keys.add(self.headers.get("api-key"))
                node.calls.append(f"{self.command} {path}")
                result = node.result(self.command, path)
                body = json.dumps({"result": result, "status": "ok"}).encode()
                self.send_response(500 if result is None else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_DELETE = _answer  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def result(self, method: str, path: str) -> object:
        parts = path.strip("/").split("/")
        if len(parts) == 1:
            return {"collections": [{"name": name} for name in self.snapshots]}
        if parts[1] == self.broken:
            return None
        names = self.snapshots[parts[1]]
        if method == "POST":
            names.append(f"{parts[1]}-{len(names)}.snapshot")
            return {"name": names[-1]}
        if method == "DELETE":
            names.remove(parts[3])
            return True
        return [{"name": name, "creation_time": f"2026-01-0{i + 1}T00:00:00"} for i, name in enumerate(names)]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def qdrant() -> Iterator[Qdrant]:
    node = Qdrant()
    yield node
    node.close()


def test_the_catalogue_is_saved_before_what_it_names_on_any_node(script: ModuleType, qdrant: Qdrant) -> None:
    other = Qdrant()
    try:
        # One list: the order of calls over both nodes.
        other.calls = qdrant.calls
        nodes = [script.Node(node.url, "secret", None) for node in (qdrant, other)]
        assert script.run(nodes, "radref", 2) == 0
    finally:
        other.close()
    saved = [call.split("/")[2] for call in qdrant.calls if call.startswith("POST")]
    names = ("radref-generations", "radref-first-catalogue", "radref-first-safety")
    assert saved == [name for name in names for _ in range(2)]
    assert qdrant.keys == other.keys == {"secret"}
    assert not qdrant.snapshots["other-things"]


def test_old_ones_go_and_the_newest_stay(script: ModuleType, qdrant: Qdrant) -> None:
    qdrant.snapshots["radref-generations"] = ["a", "b", "c"]
    assert script.run([script.Node(qdrant.url, "", None)], "radref", 2) == 0
    assert qdrant.snapshots["radref-generations"] == ["c", "radref-generations-3.snapshot"]
    assert qdrant.keys == {None}


def test_one_failure_is_told_and_keeps_the_others_from_nothing(
    script: ModuleType, qdrant: Qdrant, capsys: pytest.CaptureFixture[str]
) -> None:
    qdrant.broken = "radref-first-catalogue"
    assert script.run([script.Node(qdrant.url, "", None)], "radref", 2) == 1
    assert qdrant.snapshots["radref-first-safety"] == ["radref-first-safety-0.snapshot"]
    assert "radref-first-catalogue" in capsys.readouterr().err


def test_a_node_that_is_down_fails_the_job_and_the_others_are_saved(
    script: ModuleType, qdrant: Qdrant
) -> None:
    down = Qdrant()
    down.close()
    nodes = [script.Node(down.url, "", None), script.Node(qdrant.url, "", None)]
    assert script.run(nodes, "radref", 2) == 1
    assert qdrant.snapshots["radref-generations"]


def test_an_empty_index_is_a_failure(script: ModuleType, qdrant: Qdrant) -> None:
    assert script.run([script.Node(qdrant.url, "", None)], "elsewhere", 2) == 1
    assert script.run([], "radref", 2) == 1
