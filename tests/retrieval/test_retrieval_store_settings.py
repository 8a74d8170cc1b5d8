"""Where the index is, as settings say it, and what a service makes of that."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from radref.errors import PreconditionFailed
from radref.service.settings import SettingsError
from retrieval_svc.server import compose
from retrieval_svc.settings import RetrievalSettings
from retrieval_svc.store.settings import EdgeStoreSettings, QdrantStoreSettings
from tests.retrieval.qdrant_standin import QdrantStandin

ROOT = Path(__file__).parents[2]
KEY = "a-very-secret-key"


def qdrant(**values: Any) -> QdrantStoreSettings:
    store = RetrievalSettings.load(store={"backend": "qdrant", **values}).store
    assert isinstance(store, QdrantStoreSettings)
    return store


def test_embedded_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert RetrievalSettings.load().store == EdgeStoreSettings()
    monkeypatch.setenv("RADREF_RETRIEVAL_DATA_DIR", "somewhere")
    monkeypatch.setenv("RADREF_RETRIEVAL_COMPACT_AFTER_CHANGES", "7")
    loaded = RetrievalSettings.load()
    assert (loaded.data_dir, loaded.compact_after_changes) == (Path("somewhere"), 7)


def test_from_file_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "radref.yaml"
    config.write_text("retrieval: {store: {backend: qdrant, target: 'vectors:6334', tls: true}}")
    monkeypatch.setenv("RADREF_RETRIEVAL_STORE__API_KEY", KEY)
    loaded = RetrievalSettings.load(config)
    assert isinstance(loaded.store, QdrantStoreSettings)
    assert (loaded.store.host, loaded.store.port, loaded.store.key()) == ("vectors", 6334, KEY)
    assert KEY not in repr(loaded)
    assert KEY not in str(loaded.masked())


def test_files(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    (tmp_path / "ca").write_bytes(b"pem")
    store = qdrant(tls=True, api_key_file=tmp_path / "key", ca_file=tmp_path / "ca")
    assert (store.key(), store.authority()) == (KEY, b"pem")
    missing = qdrant(tls=True, api_key_file=tmp_path / "no", ca_file=tmp_path / "no")
    with pytest.raises(PreconditionFailed, match="api_key_file"):
        missing.key()
    with pytest.raises(PreconditionFailed, match="ca_file"):
        missing.authority()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"target": "vectors"}, "host:port"),
        ({"target": "https://vectors:6334"}, "host:port"),
        ({"target": "vectors:0"}, "host:port"),
        ({"target": "vectors:6334", "api_key": KEY}, "needs tls"),
        ({"target": "vectors:6334", "api_key_file": "key"}, "needs tls"),
        ({"api_key": KEY, "api_key_file": "key"}, "set one of them"),
        ({"ca_file": "ca.pem"}, "without tls"),
        ({"replicas": 2, "write_replicas": 3}, "larger than replicas"),
        ({"prefix": "with-hyphen"}, "prefix"),
        ({"data_dir": "here"}, "data_dir"),
        ({"backend": "other"}, "backend"),
    ],
)
def test_faults(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        qdrant(**values)
    assert KEY not in str(caught.value)


def test_a_key_may_go_to_a_proxy_on_the_same_machine() -> None:
    for host in ("127.0.0.1", "localhost", "[::1]"):
        assert qdrant(target=f"{host}:6334", api_key=KEY).key() == KEY


@pytest.fixture
async def standin() -> AsyncIterator[QdrantStandin]:
    made = QdrantStandin()
    await made.start()
    yield made
    await made.stop()


async def test_a_service_on_a_server(standin: QdrantStandin, tmp_path: Path) -> None:
    store = {"backend": "qdrant", "target": f"127.0.0.1:{standin.port}", "prefix": "site"}
    app = await compose(RetrievalSettings.load(store=store, data_dir=tmp_path / "unused"))
    names = [component.name for component in app.components]
    await app.components[names.index("vector-store")].check()
    for close in app.closers:
        await close()
    assert standin.of("Qdrant.HealthCheck")
    assert not (tmp_path / "unused").exists()


async def test_each_engine_does_without_the_other() -> None:
    """An installation has one of the two packages."""
    program = """
import sys
import retrieval_svc.server, retrieval_svc.store.payloads
assert not {"qdrant_client", "qdrant_edge"} & set(sys.modules)
import retrieval_svc.store.edge.generations
assert "qdrant_client" not in sys.modules
sys.modules["qdrant_edge"] = None  # whoever imports it from here on fails
import retrieval_svc.store.server.generations
"""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, cwd=ROOT, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await child.communicate()
    assert child.returncode == 0, errors.decode()
