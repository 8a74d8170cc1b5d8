"""The commands as people run them, against a scripted system on real gRPC."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluation.cli import app
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from tests.evaluation.eval_fake_system import FakeGateway, FakeIngest, passage, ranked, serving, statement

# A shell that runs the tests in the background makes them ignore Ctrl-C, and children inherit that. Undone in
# the child, by no preexec_fn: that would fork, which the gRPC threads of the fake servers do not bear well.
PROGRAM = (
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from evaluation.cli import app; app(prog_name='radref eval')",
)
GOLD = passage("g" * 20, "Staff may get 20 mSv a year.", document="rules", section=("Limits",))


async def start(*arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *PROGRAM,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def evaluate(*arguments: str) -> tuple[int, str, str]:
    process = await start(*arguments)
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


def json_lines(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name in ("rules", "broken"):
        (folder / f"{name}.md").write_text(name, encoding="utf-8")
    rows = [{"file": f"{name}.md", "doc_id": name, "topic": "safety"} for name in ("rules", "broken")]
    json_lines(
        folder / "manifest.jsonl", [*rows, {"file": "absent.md", "doc_id": "absent", "topic": "safety"}]
    )
    return folder


@pytest.fixture
def question_set(tmp_path: Path) -> Path:
    answerable = {
        "id": "a",
        "level": 0,
        "language": "en",
        "doc_language": "en",
        "query": "SECRET limit?",
        "gold_doc": "rules",
        "gold_section": "Limits",
        "gold_quotes": ["20 mSv a year"],
        "key_facts": ["20 mSv"],
    }
    unanswerable = {"id": "u", "language": "en", "query": "SECRET other?", "expect": "abstain"}
    return json_lines(tmp_path / "set.jsonl", [answerable, unanswerable])


def searched(_: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
    return gateway_pb2.SearchResponse(ranked_parents=ranked(GOLD))


def answered(request: gateway_pb2.GenerateRequest) -> gateway_pb2.GenerateResponse:
    if "other" in request.query:
        return gateway_pb2.GenerateResponse(outcome=answer_pb2.OUTCOME_ABSTAINED)
    return gateway_pb2.GenerateResponse(
        outcome=answer_pb2.OUTCOME_ANSWERED,
        ranked_parents=ranked(GOLD),
        statements=[statement("20 mSv.", (GOLD.citation_id, "20 mSv"))],
    )


async def test_qa_from_folder_to_result_file(tmp_path: Path, corpus: Path, question_set: Path) -> None:
    out_file, details = tmp_path / "new" / "result.json", tmp_path / "details.jsonl"
    fake = FakeIngest()
    async with serving(FakeGateway(searched, answered), fake) as address:
        arguments = ["qa", "--corpus", str(corpus), "--set", str(question_set)]
        arguments += ["--target", f"{address},{address}"]
        code, out, err = await evaluate(*arguments, "--json", str(out_file), "--details", str(details))
    assert code == 0, err
    assert set(fake.stored) == {"rules", "broken"}
    result = json.loads(out_file.read_text(encoding="utf-8"))
    assert set(result) == {
        "n",
        "evidence_hit@1",
        "evidence_hit@5",
        "evidence_hit@13",
        "evidence_all@5",
        "by_level",
        "by_language",
        "answered",
        "abstention",
        "latency_ms",
        "ci95",
        "meta",
    }
    assert (result["n"], result["evidence_hit@1"], result["abstention"]["recall"]) == (2, 1, 1)
    assert result["answered"] == {"n": 1, "facts_recall": 1, "citation_precision": 1, "citation_recall": 1}
    assert result["ci95"]["evidence_hit@5"] == [1, 1]
    meta = result["meta"]
    assert meta["versions"]["embedder"] == "e5@1"
    assert meta["corpus"]["indexed"] == 2
    assert list(meta["corpus"]["refusals"]) == ["absent"]
    assert "absent" in err
    assert "evidence hit @1" in out
    assert "SECRET" not in out + err + out_file.read_text("utf-8") + details.read_text("utf-8")
    assert [json.loads(line)["id"] for line in details.read_text("utf-8").splitlines()] == ["a", "u"]


async def test_json_on_standard_output_stands_alone(corpus: Path, question_set: Path) -> None:
    async with serving(FakeGateway(searched, answered)) as address:
        arguments = ["qa", "--corpus", str(corpus), "--set", str(question_set), "--target", address]
        code, out, err = await evaluate(*arguments, "--json", "-")
    assert code == 0, err
    assert json.loads(out)["meta"]["corpus"] is None
    assert "evidence hit @1" in err


async def test_retrieval_without_a_reranker(tmp_path: Path) -> None:
    folder = tmp_path / "mini"
    (folder / "qrels").mkdir(parents=True)
    json_lines(
        folder / "corpus.jsonl", [{"_id": "1", "title": "T", "text": "one"}, {"_id": "2", "text": "two"}]
    )
    json_lines(folder / "queries.jsonl", [{"_id": "q", "text": "SECRET"}])
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\n", encoding="utf-8")

    def search(_: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
        found = ranked(passage("b", "", document="mini-2"), passage("a", "", document="mini-1"))
        return gateway_pb2.SearchResponse(ranked_parents=found)

    async with serving(FakeGateway(search), FakeIngest()) as address:
        target = ["--target", address, "--target", address]
        code, out, err = await evaluate("retrieval", "--dataset", str(folder), *target, "--json", "-")
    assert code == 0, err
    result = json.loads(out)
    assert list(result["legs"]) == ["bm25", "dense", "hybrid", "hybrid+rerank"]
    assert result["legs"]["bm25"]["mrr@10"] == 0.5
    assert result["legs"]["hybrid+rerank"] == {"skipped": "the system has no reranker"}
    assert set(result["latency_ms"]) == {"bm25", "dense", "hybrid"}
    assert result["ci95"]["legs"]["dense"]["recall@100"] == [1, 1]


async def test_a_system_that_is_down_writes_nothing(tmp_path: Path, corpus: Path, question_set: Path) -> None:
    async with serving(FakeGateway(searched)) as address:
        pass
    out_file = tmp_path / "result.json"
    arguments = ["qa", "--corpus", str(corpus), "--set", str(question_set), "--target", address]
    code, out, err = await evaluate(*arguments, "--json", str(out_file))
    assert code == 1
    assert "calls failed" in err
    assert out == ""
    assert not out_file.exists()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_it_in_order(corpus: Path, question_set: Path, stop: signal.Signals) -> None:
    gateway = FakeGateway(searched, answered, hold=True)
    async with serving(gateway) as address:
        process = await start("qa", "--corpus", str(corpus), "--set", str(question_set), "--target", address)
        await gateway.asked.wait()
        process.send_signal(stop)
        _, err = await process.communicate()
    assert process.returncode == 130
    assert "Interrupted" in err.decode()
    assert "Traceback" not in err.decode()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["qa", "--corpus", ".", "--set", "absent.jsonl"], "absent.jsonl"),
        (["qa", "--corpus", ".", "--set", "x", "--target", "nowhere"], "HOST:PORT"),
        (["qa", "--corpus", ".", "--set", "x", "--target", "h:1", "--data-dir", "d"], "--data-dir"),
        (["retrieval", "--dataset", ".", "--legs", "bm25,magic"], "--legs"),
        (["retrieval", "--dataset", ".", "--passages", "de"], "--passages"),
    ],
)
def test_wrong_use_is_said_plainly(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""
