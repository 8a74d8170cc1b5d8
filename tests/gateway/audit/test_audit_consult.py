"""Consults through the gateway's API: what is refused, what is in the trail, what is counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from gateway.audit.database import AuditDatabase
from gateway.audit.trail import AuditTrail
from radref.api.common.v1 import errors_pb2
from radref.api.gateway.v1 import answer_pb2, consult_pb2, gateway_pb2
from radref.client import RadrefClient
from radref.errors import InvalidInput, Unavailable
from tests.gateway.audit.audit_kit import gateway_on, make_read_only, make_trail, whole_store
from tests.gateway.consult.consult_kit import (
    INDEX_VERSION,
    MAX_CHARACTERS,
    THUNDERCLAP,
    base,
    best_of,
    chooses,
    citation,
    consulting,
)
from tests.gateway.test_pipeline import Generating

NAMED = f"{THUNDERCLAP} Patient Ivanov."
OPEN = "Low back pain of Ivanov."


async def entries(client: RadrefClient) -> list[gateway_pb2.AuditEntry]:
    return [entry async for entry in client.query_audit()]


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"radref_{name}_total", labels) or 0.0


async def test_a_consult_is_in_the_trail_without_its_text(
    database: AuditDatabase, trail: AuditTrail, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with (
        gateway_on(None, database, trail, consulting()[0]) as address,
        RadrefClient(gateway=address) as client,
    ):
        answered = await client.consult(NAMED)
        abstained = await client.consult(OPEN)
        second, first = await entries(client)
    assert (first.method, first.request_id, first.actor) == ("Consult", answered.request_id, "local")
    assert list(first.citation_ids) == [citation("headache-thunderclap")] == [answered.variant.citation_id]
    assert list(first.uncited_ids) == [citation(one.id) for one in base()[1:]]
    assert (first.outcome, first.abstention_reason) == (answer_pb2.OUTCOME_ANSWERED, 0)
    assert (first.knowledge_base, first.generator, first.query_text) == (INDEX_VERSION, "", "")
    assert (second.request_id, list(second.citation_ids)) == (abstained.request_id, [])
    assert len(second.uncited_ids) == len(base())
    assert second.outcome == answer_pb2.OUTCOME_ABSTAINED
    assert second.abstention_reason == answer_pb2.ABSTENTION_REASON_INSUFFICIENT_EVIDENCE
    assert first.query_hash != second.query_hash
    written = capfd.readouterr()
    assert "Ivanov" not in written.out + written.err
    assert b"Ivanov" not in whole_store(tmp_path)


async def test_the_text_is_kept_where_the_site_says_so(database: AuditDatabase) -> None:
    trail = make_trail(database, keep_query_text=True)
    async with (
        gateway_on(None, database, trail, consulting()[0]) as address,
        RadrefClient(gateway=address) as client,
    ):
        await client.consult(NAMED)
        (entry,) = await entries(client)
    assert entry.query_text == NAMED


async def test_who_chose_is_in_the_trail(database: AuditDatabase, trail: AuditTrail) -> None:
    made, _ = consulting(generating=Generating(chooses(best_of("headache-thunderclap"))))
    async with gateway_on(None, database, trail, made) as address, RadrefClient(gateway=address) as client:
        answered = await client.consult(NAMED)
        (entry,) = await entries(client)
    assert entry.generator == answered.versions.generator == "qwen@" + "g" * 16


async def test_what_cannot_be_recorded_is_not_recommended(database: AuditDatabase, trail: AuditTrail) -> None:
    await database.open()
    make_read_only(database)
    async with (
        gateway_on(None, database, trail, consulting()[0]) as address,
        RadrefClient(gateway=address) as client,
    ):
        with pytest.raises(Unavailable) as refused:
            await client.consult(NAMED)
    assert refused.value.metadata["backend"] == "audit"


@pytest.mark.parametrize(
    ("scenario", "reason"), [("", "EMPTY_TEXT"), (" ?", "EMPTY_TEXT"), ("a" * 4001, "TEXT_TOO_LONG")]
)
async def test_what_is_no_scenario_is_refused_with_its_field(
    database: AuditDatabase, trail: AuditTrail, scenario: str, reason: str
) -> None:
    made, searching = consulting()
    async with gateway_on(None, database, trail, made) as address, RadrefClient(gateway=address) as client:
        with pytest.raises(InvalidInput) as refused:
            await client.consult(scenario)
        await client.consult("a" * MAX_CHARACTERS)
        *_, entry = await entries(client)
    assert (refused.value.reason, refused.value.field) == (reason, "scenario")
    assert entry.error_reason == errors_pb2.ErrorReason.Value(f"ERROR_REASON_{reason}")
    assert entry.outcome == answer_pb2.OUTCOME_UNSPECIFIED
    assert len(searching.queries) == 1


async def test_a_dead_search_is_in_the_trail(database: AuditDatabase, trail: AuditTrail) -> None:
    made, searching = consulting()

    async def dead(query: object) -> None:
        raise Unavailable("no answer", metadata={"backend": "retrieval"})

    searching.retrieve = dead  # type: ignore[method-assign, assignment]
    async with gateway_on(None, database, trail, made) as address, RadrefClient(gateway=address) as client:
        with pytest.raises(Unavailable):
            await client.consult(NAMED)
        (entry,) = await entries(client)
    assert entry.error_reason == errors_pb2.ERROR_REASON_BACKEND_UNAVAILABLE


async def test_consults_are_counted(database: AuditDatabase, trail: AuditTrail) -> None:
    named = chooses(best_of("headache-thunderclap"), ("PET", citation("headache-thunderclap")))
    made, _ = consulting(generating=Generating(named, chooses(insufficient=True)))
    series = {
        "answered": ("answers", {"outcome": "answered"}),
        "abstained": ("answers", {"outcome": "abstained"}),
        "insufficient": ("abstentions", {"reason": "insufficient_evidence"}),
        "valid": ("citations", {"result": "valid"}),
        "misquoted": ("citations", {"result": "misquoted"}),
        "prompt": ("generation_tokens", {"kind": "prompt"}),
    }

    def now() -> dict[str, float]:
        return {key: counted(name, **labels) for key, (name, labels) in series.items()}

    before = now()
    async with gateway_on(None, database, trail, made) as address, RadrefClient(gateway=address) as client:
        assert (await client.consult(NAMED)).decision == consult_pb2.CONSULT_DECISION_RECOMMENDED
        assert (await client.consult(NAMED)).decision == consult_pb2.CONSULT_DECISION_GENERATOR
    assert {key: value - before[key] for key, value in now().items()} == {
        "answered": 1,
        "abstained": 1,
        "insufficient": 1,
        "valid": 1,
        "misquoted": 1,
        "prompt": 20,
    }
