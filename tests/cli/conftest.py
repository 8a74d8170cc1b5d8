"""The `radref` command against an ingest service in memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from radref.cli import main
from radref.cli.paths import Addresses, addresses_file
from tests.cli.fake_ingest import FakeIngest, serving


@dataclass
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str


Cli = Callable[..., Done]


@pytest.fixture
def ingest() -> FakeIngest:
    return FakeIngest()


@pytest.fixture
def cli(
    ingest: FakeIngest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Cli]:
    """Runs `radref ...` in this process, as `main` does."""
    monkeypatch.setattr(main, "_add_commands_of_other_packages", lambda: None)

    def run(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["radref", *map(str, arguments)])
        capsys.readouterr()
        code: int | str | None = 0
        try:
            main.main()
        except SystemExit as exc:
            code = exc.code
        written = capsys.readouterr()
        return Done(int(code or 0), written.out, written.err)

    with serving(ingest) as address:
        data_dir = tmp_path / "stack"
        nobody = "127.0.0.1:1"
        Addresses(gateway=nobody, retrieval=nobody, inference=nobody, ingest=address).write(
            addresses_file(data_dir)
        )
        monkeypatch.setenv("RADREF_DATA_DIR", str(data_dir))
        for name in ("RADREF_GATEWAY", "RADREF_INGEST"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("LOGNAME", "ann")
        yield run
