"""`radref audit` and `radref feedback` against a gateway in this process."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import structlog

from gateway.audit.database import AuditDatabase
from gateway.audit.feedback import FeedbackBox
from gateway.audit.model import Criterion, Feedback
from gateway.audit.trail import AuditTrail
from gateway.model import AbstentionReason, Outcome
from radref.cli import main
from radref.cli.paths import Addresses, addresses_file
from tests.gateway.audit.audit_kit import IDS, NOW, gateway_on, make_trail, numbered, sqlite_url
from tests.gateway.test_pipeline import pipeline

Cli = Callable[..., SimpleNamespace]


class Stack:
    """A served gateway on a thread of its own, and its store."""

    def __init__(self, folder: Path) -> None:
        self.database = AuditDatabase(sqlite_url(folder))
        self.trail: AuditTrail = make_trail(self.database)
        self.box = FeedbackBox(self.database, clock=lambda: NOW)
        self.address = ""
        self._serving = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._serving.wait(30)

    def do(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self.database.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        async with gateway_on(pipeline()[0], self.database, self.trail) as self.address:
            self._serving.set()
            await self._stop.wait()


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    # The service's log goes to standard output here, where the commands write.
    with structlog.testing.capture_logs():
        made = Stack(tmp_path)
        yield made
        made.stop()


@pytest.fixture
def cli(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Cli:
    """Runs `radref ...` in this process, as `main` does."""
    monkeypatch.setattr(main, "_add_commands_of_other_packages", lambda: None)
    nobody = "127.0.0.1:1"
    Addresses(gateway=stack.address, retrieval=nobody, inference=nobody, ingest=nobody).write(
        addresses_file(tmp_path)
    )
    monkeypatch.setenv("RADREF_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("LOGNAME", "ann")
    for name in ("RADREF_GATEWAY", "RADREF_INGEST"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", ["radref", *arguments])
        capsys.readouterr()
        code: int | str | None = 0
        try:
            main.main()
        except SystemExit as exc:
            code = exc.code
        written = capsys.readouterr()
        return SimpleNamespace(code=int(code or 0), out=written.out, err=written.err)

    return run


def test_an_empty_trail_says_so(cli: Cli) -> None:
    listed, said = cli("audit", "list"), cli("audit", "feedback")
    assert (listed.code, said.code) == (0, 0)
    assert "No request in the audit trail matches" in listed.out
    assert "radref feedback REQUEST_ID" in said.out


def test_requests_are_shown_newest_first(cli: Cli, stack: Stack) -> None:
    stack.do(stack.trail.record(numbered(1)))
    stack.do(
        stack.trail.record(
            numbered(
                2,
                actor="Смирнова",
                outcome=Outcome.ABSTAINED,
                abstention_reason=AbstentionReason.INSUFFICIENT_EVIDENCE,
                citation_ids=(),
            )
        )
    )
    stack.do(stack.trail.record(numbered(3, outcome=None, error_reason="DEADLINE")))
    shown = cli("audit", "list").out
    assert shown.index("failed: DEADLINE") < shown.index("abstained: insufficient evidence")
    assert shown.index("abstained: insufficient evidence") < shown.index("answered")
    assert "2026-03-04 05:06" in shown
    assert "Смирнова" in shown
    assert "question" not in shown
    assert "r1" not in cli("audit", "list", "--actor", "Смирнова").out
    cited = cli("audit", "list", "--citation", IDS[0], "--limit", "1").out
    assert "r3" in cited
    assert "--limit 10" in cited
    assert "No request" in cli("audit", "list", "--until", "2026-03-04").out
    assert "r3" in cli("audit", "list", "--since", "2026-03-04T05:06").out


def test_requests_as_json_are_complete(cli: Cli, stack: Stack) -> None:
    stack.do(stack.trail.record(numbered(1, query_text="Доза?")))
    (entry,) = json.loads(cli("audit", "list", "--request", "r1", "--json").out)["entries"]
    assert (entry["query_hash"], entry["query_text"]) == ("a" * 64, "Доза?")
    assert (entry["citation_ids"], entry["uncited_ids"]) == (list(IDS[:2]), list(IDS[2:4]))
    assert (entry["outcome"], entry["error_reason"]) == ("OUTCOME_ANSWERED", "ERROR_REASON_UNSPECIFIED")
    assert "Доза?" in cli("audit", "list").out


def test_feedback_is_given_shown_and_replaced(cli: Cli, stack: Stack) -> None:
    stack.do(stack.trail.record(numbered(1)))
    given = cli("feedback", "r1", "--correctness", "5", "--clarity", "2", "--passage", f"{IDS[0]}=4")
    assert given.code == 0
    assert "radref audit feedback --request r1" in given.out
    cli("feedback", "r1", "--usefulness", "3", "--comment", "Всё верно", "--as", "bob")
    shown = cli("audit", "feedback").out
    assert "correctness 5, clarity 2" in shown
    assert f"{IDS[0]} 4" in shown
    assert "Всё верно" in shown
    cli("feedback", "r1", "--correctness", "1")
    (ann,) = json.loads(cli("audit", "feedback", "--actor", "ann", "--json").out)["entries"]
    assert ann["ratings"] == [{"criterion": "FEEDBACK_CRITERION_CORRECTNESS", "rating": 1}]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nobody", "--clarity", "3"), "UNKNOWN_REQUEST"),
        (("r1",), "the feedback is empty"),
        (("r1", "--clarity", "6"), "6"),
        (("r1", "--passage", "abc"), "ID=MARK"),
        (("r1", "--passage", f"{IDS[0]}=9"), "ID=MARK"),
        (("r1", "--passage", f"{IDS[8]}=3"), "did not return"),
        (("r1", "--comment", "a\x1b[31m"), "control characters"),
    ],
)
def test_unusable_feedback_is_explained(
    cli: Cli, stack: Stack, arguments: tuple[str, ...], told: str
) -> None:
    stack.do(stack.trail.record(numbered(1)))
    done = cli("feedback", *arguments)
    assert done.code == 2
    assert told in done.err


def test_feedback_is_exported_for_spreadsheets(cli: Cli, stack: Stack, tmp_path: Path) -> None:
    for number, comment in enumerate(('=HYPERLINK("x")', "Строка 1\nстрока 2, с запятой", "")):
        stack.do(stack.trail.record(numbered(number)))
        marks = tuple((criterion, 1 + number) for criterion in list(Criterion)[: 6 - number])
        stack.do(stack.box.submit(Feedback(f"r{number}", marks, ((IDS[0], 5),), comment), "ann"))
    path = tmp_path / "out.csv"
    assert "3 verdicts written" in cli("audit", "feedback", "--csv", str(path)).out
    rows = list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))
    by_request = {row["request_id"]: row for row in rows}
    assert by_request["r0"]["comment"] == '\'=HYPERLINK("x")'
    assert by_request["r1"]["comment"] == "Строка 1\nстрока 2, с запятой"
    assert (by_request["r1"]["correctness"], by_request["r1"]["usefulness"]) == ("2", "")
    assert by_request["r2"]["passages"] == f"{IDS[0]}=5"
    assert by_request["r2"]["at_utc"] == "2026-03-04T05:06:07.000089Z"
    printed = cli("audit", "feedback", "--csv", "-").out
    assert list(csv.DictReader(io.StringIO(printed, newline=""))) == rows
    assert cli("audit", "feedback", "--csv", str(tmp_path / "no" / "out.csv")).code == 2
    assert cli("audit", "feedback", "--csv", "-", "--json").code == 2
