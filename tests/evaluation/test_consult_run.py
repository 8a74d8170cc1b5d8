"""Asking a scripted system: runs, failures, citations, the base, the command."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from evaluation.consult.expectations import expectations
from evaluation.consult.load_base import load_base, other_variants
from evaluation.consult.run import ConsultRuns, Observation, run_scenarios, warm_up
from evaluation.consult.scenario_set import load_scenarios
from radref.api.common.v1 import errors_pb2
from radref.api.gateway.v1 import consult_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.appropriateness.kb_file import read_kb
from radref.client import RadrefClient
from radref.errors import DeadlineExceeded, Overloaded, PreconditionFailed, RadrefError, Unavailable
from tests.evaluation.eval_fake_consult import (
    FakeConsult,
    FakeVariants,
    abstention,
    answer,
    consulting,
    kb_file,
    set_file,
)
from tests.evaluation.eval_fake_system import VERSIONS
from tests.evaluation.test_eval_cli import evaluate

QUIET = Console(quiet=True)
TWO = (
    "scenarios:",
    "  - {id: S1, query: fell on the knee, variant: knee-acute, top_procedure: scan-a}",
    "  - {id: S2, query: a lump, variant: breast-lump, top_procedure: us}",
    "probes:",
    "  - {id: P1, query: the weather, expect: abstain}",
)


async def ask(tmp_path: Path, gateway: FakeConsult, *lines: str, runs: int = 1) -> ConsultRuns:
    path = set_file(tmp_path, *lines)
    expected = expectations(load_scenarios(path), read_kb(kb_file(tmp_path)), path.name)
    done: list[int] = []
    async with consulting(gateway) as address, RadrefClient(gateway=address) as client:
        seen = await run_scenarios(client, expected, runs=runs, timeout=5, on_done=lambda: done.append(1))
    assert len(done) == len(expected) * runs
    return seen


async def test_the_set_is_asked_from_start_to_end_in_every_run(tmp_path: Path) -> None:
    gateway = FakeConsult({"fell on the knee": [answer("knee-acute")], "a lump": [abstention()]})
    seen = await ask(tmp_path, gateway, *TWO, runs=2)
    assert gateway.asked == ["fell on the knee", "a lump", "the weather"] * 2
    assert seen.versions == VERSIONS
    assert [len(run) for run in seen.runs] == [3, 3]
    first = seen.runs[0][0]
    assert isinstance(first, Observation)
    assert first.milliseconds > 0
    # The variant and its two procedures cite one passage, which is read once.
    assert (first.citations.emitted, first.citations.resolving) == (3, 3)
    assert gateway.looked_up == ["cite-knee-acute"]


@pytest.mark.parametrize(
    ("passage", "resolving"),
    [
        ("| Scan of the knee A | 8 |\n| Scan of the knee B | 8 |", 3),
        # One procedure's name is not there: neither its own citation nor the variant's holds.
        ("| Scan of the knee A | 8 |", 1),
        ("Scan of the KNEE A, Scan of the KNEE B", 0),
        (None, 0),
    ],
)
async def test_a_citation_resolves_when_its_passage_holds_the_name(
    tmp_path: Path, passage: str | None, resolving: int
) -> None:
    passages: dict[str, str | RadrefError] = {} if passage is None else {"cite-knee-acute": passage}
    gateway = FakeConsult({"fell on the knee": [answer("knee-acute")]}, passages=passages)
    seen = (await ask(tmp_path, gateway, *TWO[:2])).runs[0][0]
    assert isinstance(seen, Observation)
    assert (seen.citations.emitted, seen.citations.resolving) == (3, resolving)


def many(count: int) -> tuple[str, ...]:
    return ("probes:", *(f"  - {{id: P{n}, query: q{n}, expect: abstain}}" for n in range(count)))


async def test_a_failed_call_is_kept_as_its_error(tmp_path: Path) -> None:
    gateway = FakeConsult({"q3": [DeadlineExceeded("too slow")]})
    seen = await ask(tmp_path, gateway, *many(20))
    assert [number for number, each in enumerate(seen.runs[0]) if isinstance(each, RadrefError)] == [3]
    assert seen.failures.reasons == {"DEADLINE": 1}


async def test_a_source_that_cannot_be_read_now_fails_its_item(tmp_path: Path) -> None:
    gateway = FakeConsult(
        {"q3": [answer("knee-acute")]}, passages={"cite-knee-acute": DeadlineExceeded("too slow")}
    )
    seen = await ask(tmp_path, gateway, *many(20))
    assert isinstance(seen.runs[0][3], DeadlineExceeded)


@pytest.mark.parametrize(
    "response", [consult_pb2.ConsultResponse(), consult_pb2.ConsultResponse(outcome="OUTCOME_ANSWERED")]
)
async def test_neither_an_answer_nor_an_abstention_is_a_defect(
    tmp_path: Path, response: consult_pb2.ConsultResponse
) -> None:
    seen = await ask(tmp_path, FakeConsult({"q0": [response]}), *many(20))
    assert seen.failures.reasons == {"INTERNAL": 1}


async def test_too_many_failures_end_the_measurement(tmp_path: Path) -> None:
    gateway = FakeConsult({f"q{n}": [Unavailable("down")] for n in range(2)})
    with pytest.raises(Unavailable, match="2 of 20 calls failed"):
        await ask(tmp_path, gateway, *many(20))


async def test_the_warm_up_asks_another_text_and_fails_silently() -> None:
    gateway = FakeConsult({"Warm-up. a lump": [DeadlineExceeded("first load")]})
    async with consulting(gateway) as address, RadrefClient(gateway=address) as client:
        await warm_up(client, "a lump", timeout=5)
    assert gateway.asked == ["Warm-up. a lump"]


async def test_the_base_is_loaded_and_what_else_is_there_is_named(tmp_path: Path) -> None:
    base = read_kb(kb_file(tmp_path))
    # One is there already, one of another base is searched, one no longer.
    ingest = FakeVariants(stored={"knee-acute": 1, "hip": 1, "gone": 0})
    ingest.overloaded.append(Overloaded("later", retry_after=0.01))
    async with (
        consulting(FakeConsult({}), ingest) as address,
        RadrefClient(gateway=address, ingest=address) as client,
    ):
        results = await load_base(client, base, QUIET)
        assert [result.status for result in results] == ["duplicate", "indexed", "indexed"]
        assert await other_variants(client, results) == ["hip"]
    assert sorted(ingest.submitted) == ["breast-lump", "knee-acute", "knee-chronic"]


async def test_half_a_base_is_not_measured(tmp_path: Path) -> None:
    failure = ingest_pb2.JobFailure(reason=errors_pb2.ERROR_REASON_INVALID_FIELD, message="no title")
    ingest = FakeVariants(failing={"knee-chronic": failure})
    async with (
        consulting(FakeConsult({}), ingest) as address,
        RadrefClient(gateway=address, ingest=address) as client,
    ):
        with pytest.raises(PreconditionFailed, match=r"1 of 3 variants .* knee-chronic: INVALID_FIELD: no t"):
            await load_base(client, read_kb(kb_file(tmp_path)), QUIET)


KEYS = [
    *("profile", "scenarios", "probes", "citations", "runs", "consistency", "topic_correct"),
    *("variant_in_top5", "gate_refused", "correct_every_run", "latency_ms", "items", "meta"),
]


async def test_command_from_files_to_result(tmp_path: Path) -> None:
    kb, questions = kb_file(tmp_path), set_file(tmp_path, *TWO)
    out_file, plot = tmp_path / "new" / "result.json", tmp_path / "gate.svg"
    # The second scenario is flaky: refused in the second of three runs.
    gateway = FakeConsult(
        {
            "fell on the knee": [answer("knee-acute")],
            "a lump": [answer("breast-lump"), abstention(), answer("breast-lump")],
        }
    )
    ingest = FakeVariants(stored={"hip": 1})
    async with consulting(gateway, ingest) as address:
        code, out, err = await evaluate(
            "consult", "--kb", str(kb), "--set", str(questions), "--runs", "3", "--profile", "default+llm",
            "--target", f"{address},{address}", "--json", str(out_file), "--plot", str(plot),
        )  # fmt: skip
    assert code == 0, err
    assert gateway.asked[0].startswith("Warm-up.")
    result = json.loads(out_file.read_text(encoding="utf-8"))
    assert list(result) == KEYS
    assert result["profile"] == "default+llm"
    assert (result["scenarios"]["correct_variant"], result["probes"]["refused"]) == (2, 1)
    assert (result["consistency"], result["correct_every_run"]) == (0.6667, 1)
    assert [run["correct_variant"] for run in result["runs"]] == [2, 1, 2]
    assert [row["same_in_all_runs"] for row in result["items"]] == [True, False, True]
    meta = result["meta"]
    assert meta["versions"]["embedder"] == "e5@1"
    assert meta["settings"]["set"]["file"] == "set.yaml"
    assert meta["settings"]["kb"]["version"] == "7-synthetic"
    assert (meta["settings"]["kb"]["variants"], meta["corpus"]["indexed"]) == (3, 3)
    assert meta["other_variants"] == ["hip"]
    assert "1 variants of another base" in err
    assert "profile default+llm" in out
    assert "66.7 %" in out
    ElementTree.fromstring(plot.read_text(encoding="utf-8"))


async def test_a_running_system_without_a_label_gets_none_made_up(tmp_path: Path) -> None:
    kb, questions = kb_file(tmp_path), set_file(tmp_path, *TWO)
    async with consulting(FakeConsult({})) as address:
        code, out, err = await evaluate(
            "consult", "--kb", str(kb), "--set", str(questions), "--target", address, "--json", "-"
        )
    assert code == 0, err
    result = json.loads(out)
    # Without the ingest service's address nothing is uploaded.
    assert (result["profile"], result["meta"]["corpus"]) == ("as served", None)


async def test_failed_calls_are_told(tmp_path: Path) -> None:
    kb, questions = kb_file(tmp_path), set_file(tmp_path, *many(20))
    async with consulting(FakeConsult({"q3": [DeadlineExceeded("too slow")]})) as address:
        code, out, err = await evaluate(
            "consult", "--kb", str(kb), "--set", str(questions), "--target", address, "--json", "-"
        )
    assert code == 0, err
    assert "1 calls failed and are in no figure: 1 x DEADLINE" in err
    result = json.loads(out)
    assert (result["probes"]["n"], result["meta"]["errors"]) == (19, {"DEADLINE": 1})


async def test_a_system_that_fails_writes_nothing(tmp_path: Path) -> None:
    kb, questions, out_file = kb_file(tmp_path), set_file(tmp_path, *TWO), tmp_path / "result.json"
    async with consulting(FakeConsult({"a lump": [Unavailable("down")]})) as address:
        code, out, err = await evaluate(
            "consult", "--kb", str(kb), "--set", str(questions), "--target", address, "--json", str(out_file)
        )
    assert (code, out, out_file.exists()) == (1, "", False)
    assert "1 of 3 calls failed" in err


@pytest.mark.parametrize(
    ("profile", "says"),
    [("magic", "one of default, paper, not magic"), ("default", "S1 expects the variant hip")],
)
async def test_wrong_use_costs_no_start(tmp_path: Path, profile: str, says: str) -> None:
    kb = kb_file(tmp_path)
    variant = "hip" if profile == "default" else "knee-acute"
    questions = set_file(
        tmp_path, "scenarios:", f"  - {{id: S1, query: x, variant: {variant}, top_procedure: scan-a}}"
    )
    code, out, err = await evaluate("consult", "--kb", str(kb), "--set", str(questions), "--profile", profile)
    assert (code, out) == (2, "")
    assert says in " ".join(err.split())
