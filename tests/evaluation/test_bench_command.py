"""`radref bench` as people run it, against a scripted gateway on real gRPC."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from threading import Event, Thread

import pytest
import typer
from typer.testing import CliRunner

from evaluation.bench import command
from evaluation.bench.command import bench
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from tests.evaluation.eval_fake_system import FakeGateway, serving

PROGRAM = (sys.executable, "-c", "import typer; from evaluation.bench.command import bench; typer.run(bench)")
TIMINGS = {"embed": 0.03, "search": 0.02, "embed_compute": 0.02, "store_compute": 0.01}

app = typer.Typer()
app.command()(bench)


def searched(_: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
    return gateway_pb2.SearchResponse(
        timings=[answer_pb2.StageTiming(stage=name, milliseconds=ms) for name, ms in TIMINGS.items()]
    )


def empty(_: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
    return gateway_pb2.SearchResponse(versions=answer_pb2.Versions(radref="0.1.0"))


@contextmanager
def gateway_elsewhere(gateway: FakeGateway) -> Iterator[str]:
    """Serves in a thread: the command runs its own event loop in this one."""
    address: list[str] = []
    ready, stop = Event(), Event()

    async def serve() -> None:
        async with serving(gateway) as where:
            address.append(where)
            ready.set()
            await asyncio.to_thread(stop.wait)

    thread = Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(30)
    try:
        yield address[0]
    finally:
        stop.set()
        thread.join()


@pytest.fixture
def question_set(tmp_path: Path) -> Path:
    path = tmp_path / "set.jsonl"
    rows = [{"id": str(n), "language": "en", "query": f"SECRET {n}?", "expect": "abstain"} for n in range(3)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


async def test_from_options_to_result_file(tmp_path: Path, question_set: Path) -> None:
    out_file = tmp_path / "result.json"
    gateway = FakeGateway(searched)
    async with serving(gateway) as address:
        process = await asyncio.create_subprocess_exec(
            *PROGRAM,
            *("--target", address, "--questions", str(question_set), "--json", str(out_file)),
            *("--seconds", "1", "--warmup", "0.1", "--concurrency", "2"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    result = json.loads(out_file.read_text(encoding="utf-8"))
    assert set(result) == {
        "concurrency",
        "calls",
        "seconds",
        "calls_per_second",
        "degraded",
        "search_ms",
        "stages_ms",
        "not_compute_ms",
        "overhead_ratio",
        "overhead_ratio_p50",
        "overhead_calls",
        "compute_unknown",
        "meta",
    }
    assert 0 < result["calls"] < len(gateway.searches)
    assert set(result["stages_ms"]) == set(TIMINGS)
    assert result["overhead_ratio"] > 1
    assert result["meta"]["settings"]["questions"] == 3
    assert result["meta"]["versions"]["embedder"] == "e5@1"
    assert "Search, seen by the client" in out.decode()
    assert "overhead_ratio" in out.decode()
    assert "SECRET" not in out.decode() + err.decode() + out_file.read_text(encoding="utf-8")


def test_json_on_standard_output_stands_alone(question_set: Path) -> None:
    arguments = ["--questions", str(question_set), "--seconds", "1", "--warmup", "0", "--json", "-"]
    with gateway_elsewhere(FakeGateway(searched)) as address:
        result = CliRunner().invoke(app, [*arguments, "--target", address])
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["overhead_calls"] > 0
    assert "seen by the client" in result.stderr


def test_an_empty_knowledge_base_is_not_measured(question_set: Path) -> None:
    gateway = FakeGateway(empty)
    with gateway_elsewhere(gateway) as address:
        result = CliRunner().invoke(app, ["--questions", str(question_set), "--target", address])
    assert result.exit_code == 1
    assert "empty" in result.stderr
    assert len(gateway.searches) == 1


async def test_ctrl_c_stops_it_in_order(tmp_path: Path, question_set: Path) -> None:
    gateway = FakeGateway(searched)
    out_file = tmp_path / "result.json"
    async with serving(gateway) as address:
        process = await asyncio.create_subprocess_exec(
            *PROGRAM,
            *(
                "--target",
                address,
                "--questions",
                str(question_set),
                "--seconds",
                "600",
                "--json",
                str(out_file),
            ),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        # Starting the command takes a second, on a busy machine a minute.
        async with asyncio.timeout(300):
            while len(gateway.searches) < 10:
                await asyncio.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
    assert process.returncode == 130
    assert "Interrupted" in err.decode()
    assert "Traceback" not in err.decode()
    assert not out_file.exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "--data-dir"),
        (["--target", "nowhere"], "HOST:PORT"),
        (["--target", "h:1,h:2"], "one address"),
        (["--target", "h:1", "--data-dir", "."], "--target"),
        (["--data-dir", "absent-folder"], "absent-folder"),
        (["--target", "h:1", "--concurrency", "0"], "concurrency"),
        (["--target", "h:1", "--seconds", "0"], "seconds"),
        (["--target", "h:1", "--warmup", "-1"], "warmup"),
        (["--target", "h:1", "--questions", "absent.jsonl"], "absent.jsonl"),
    ],
)
def test_wrong_use_is_said_plainly(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""


def test_without_samples_a_question_set_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert command.SAMPLE_QUESTIONS.is_file()
    monkeypatch.setattr(command, "SAMPLE_QUESTIONS", Path("absent"))
    result = CliRunner().invoke(app, ["--target", "h:1"])
    assert result.exit_code == 2
    assert "--questions" in result.stderr


def test_it_is_a_command_of_radref() -> None:
    (entry,) = (entry for entry in entry_points(group="radref.commands") if entry.name == "bench")
    assert entry.load() is bench
