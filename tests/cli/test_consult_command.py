"""`radref consult`: what a doctor reads of a recommendation and of an abstention."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from radref.api.gateway.v1 import answer_pb2, consult_pb2, gateway_pb2_grpc
from radref.errors import InvalidInput
from tests.cli.conftest import Cli
from tests.cli.fake_ingest import refuse

CITED = "0123456789abcdef0123"
VARIANT = consult_pb2.ConsultVariant(
    id="headache-thunderclap", topic="Headache", title="Thunderclap headache.", citation_id=CITED
)
RECOMMENDATION = consult_pb2.ConsultResponse(
    outcome=answer_pb2.OUTCOME_ANSWERED,
    decision=consult_pb2.CONSULT_DECISION_RECOMMENDED,
    variant=VARIANT,
    procedures=[
        consult_pb2.ConsultProcedure(
            name="CT head without IV contrast",
            rating=9,
            category=consult_pb2.APPROPRIATENESS_CATEGORY_USUALLY_APPROPRIATE,
            radiation_level="medium",
            comment="First study; do not delay [today], aneurysm search and everything else that is long.",
            citation_ids=[CITED],
        ),
        consult_pb2.ConsultProcedure(
            name="Radiography skull",
            rating=1,
            category=consult_pb2.APPROPRIATENESS_CATEGORY_USUALLY_NOT_APPROPRIATE,
            radiation_level="low",
        ),
    ],
    facts=[
        consult_pb2.ScenarioFact(
            concept="thunderclap headache", polarity=consult_pb2.FACT_POLARITY_PRESENT, evidence="thunderclap"
        ),
        consult_pb2.ScenarioFact(concept="fever", polarity=consult_pb2.FACT_POLARITY_ABSENT),
        consult_pb2.ScenarioFact(concept="stone", polarity=consult_pb2.FACT_POLARITY_HISTORICAL),
        consult_pb2.ScenarioFact(concept="bleeding", polarity=consult_pb2.FACT_POLARITY_SUSPECTED),
    ],
    assumptions=["adult", "not pregnant"],
    notices=[
        answer_pb2.Notice(
            kind=answer_pb2.NOTICE_KIND_PREGNANCY_NOT_STATED, message="It is not stated: check [first]."
        )
    ],
    banner="SYNTHETIC knowledge base",
    timings=[
        answer_pb2.StageTiming(stage="search", milliseconds=40),
        answer_pb2.StageTiming(stage="rerank_compute", milliseconds=30),
        answer_pb2.StageTiming(stage="select", milliseconds=2),
    ],
    request_id="r1",
)
ABSTENTION = consult_pb2.ConsultResponse(
    outcome=answer_pb2.OUTCOME_ABSTAINED,
    decision=consult_pb2.CONSULT_DECISION_OPEN,
    abstention=answer_pb2.Abstention(
        reason=answer_pb2.ABSTENTION_REASON_INSUFFICIENT_EVIDENCE,
        message="The scenario does not say enough. What would decide it: is it sudden?",
    ),
    candidates=[
        consult_pb2.ConsultCandidate(
            variant=VARIANT, fit=consult_pb2.VARIANT_FIT_OPEN, reasons=["not said: onset"]
        ),
        consult_pb2.ConsultCandidate(
            variant=consult_pb2.ConsultVariant(title="Flank pain."), fit=consult_pb2.VARIANT_FIT_UNRELATED
        ),
    ],
    notices=[
        answer_pb2.Notice(kind=answer_pb2.NOTICE_KIND_EMERGENCY_FEATURE, message="No reason to leave it out.")
    ],
    request_id="r2",
)


class Gateway(gateway_pb2_grpc.GatewayServiceServicer):
    """Answers each consult as the test says."""

    def __init__(self) -> None:
        self.response = RECOMMENDATION
        self.asked: list[str] = []

    def Consult(self, request, context):  # noqa: N802
        self.asked.append(request.scenario)
        if not request.scenario.strip():
            refuse(context, InvalidInput("the scenario is empty", reason="EMPTY_TEXT", field="scenario"))
        return self.response


@pytest.fixture
def gateway(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    made = Gateway()
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    gateway_pb2_grpc.add_GatewayServiceServicer_to_server(made, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    monkeypatch.setenv("RADREF_GATEWAY", f"127.0.0.1:{port}")
    yield made
    server.stop(None).wait()


def columns(line: str) -> list[str]:
    """The cells of a line of a table, at least two spaces apart."""
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_a_recommendation(cli: Cli, gateway: Gateway) -> None:
    done = cli("consult", "Thunderclap headache.")
    assert (done.code, gateway.asked) == (0, ["Thunderclap headache."])
    banner, title, heading, first, second, *rest = done.out.splitlines()
    assert (banner, title) == ("SYNTHETIC knowledge base", "Thunderclap headache.")
    assert columns(heading) == ["rating", "procedure", "radiation", "comment"]
    assert columns(first) == [
        "9",
        "CT head without IV contrast",
        "usually appropriate",
        "medium",
        RECOMMENDATION.procedures[0].comment,
    ]
    assert columns(second) == ["1", "Radiography skull", "usually not appropriate", "low"]
    assert rest == [
        "Assumed, since it is not said: adult; not pregnant",
        f"[1] Headache: radref source {CITED}",
        "! It is not stated: check [first].",
        'Read from the text: thunderclap headache: yes ("thunderclap"); fever: no; stone: earlier; '
        "bleeding: suspected",
        "42 ms · request r1",
    ]


def test_what_a_model_chose_although_it_is_open(cli: Cli, gateway: Gateway) -> None:
    gateway.response = consult_pb2.ConsultResponse()
    gateway.response.CopyFrom(RECOMMENDATION)
    gateway.response.open_questions.extend(["is it sudden?", "is there fever?"])
    assert "Not said: is it sudden? is there fever?\n" in cli("consult", "Headache.").out


def test_an_abstention_is_a_result(cli: Cli, gateway: Gateway) -> None:
    gateway.response = ABSTENTION
    done = cli("consult", "Headache.")
    assert done.code == 0
    assert done.out.splitlines() == [
        "No recommendation: not enough is said.",
        "The scenario does not say enough. What would decide it: is it sudden?",
        "• Thunderclap headache.",
        "    not said: onset",
        "! No reason to leave it out.",
        "0 ms · request r2",
    ]


@pytest.mark.parametrize(
    "decision", [number for number in consult_pb2.ConsultDecision.values() if number > 1]
)
def test_every_decision_has_its_words(cli: Cli, gateway: Gateway, decision: int) -> None:
    gateway.response = consult_pb2.ConsultResponse(decision=decision)  # type: ignore[arg-type]
    head = cli("consult", "Headache.").out.splitlines()[0]
    assert head.startswith("No recommendation: ")
    assert head != "No recommendation: no recommendation."


def test_json_and_standard_input(cli: Cli, gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.read", lambda: "Headache\nsince today.\n", raising=False)
    done = cli("consult", "-", "--json")
    assert json.loads(done.out)["variant"]["citation_id"] == CITED
    assert gateway.asked == ["Headache\nsince today.\n"]


def test_what_is_refused(cli: Cli, gateway: Gateway) -> None:
    done = cli("consult", " ")
    assert (done.code, done.out) == (2, "")
    assert "the scenario is empty" in done.err
