"""Every route: JSON in, the desk's answer as JSON out."""

import pytest
from prometheus_client import REGISTRY

from gateway.model import Filters, Leg, Limits, RerankMode, SearchQuery
from tests.gateway.rest.fake_desk import ABSTAINED, CITED, QUOTE, TEXT, FakeDesk
from tests.gateway.rest.rest_client import BODY, GATEWAY, client

FILTERS = {"topics": ["safety"], "languages": ["en", "ru"], "document_ids": ["doc"], "year_from": 2020}
AS_MODEL = Filters(topics=("safety",), languages=("en", "ru"), document_ids=("doc",), year_from=2020)


async def test_search_hands_over_every_field() -> None:
    desk = FakeDesk()
    body = {
        **BODY,
        "legs": ["bm25"],
        "rerank": "off",
        "limits": {"parents": 5.0, "candidates": None},
        "filters": FILTERS,
        "want_candidates": True,
    }
    async with client(desk) as http:
        response = await http.post("/v1/search", json=body)
    assert response.status_code == 200
    assert desk.asked == [
        SearchQuery(
            text=BODY["query"],
            legs=(Leg.BM25,),
            rerank=RerankMode.OFF,
            limits=Limits(parents=5),
            filters=AS_MODEL,
            want_candidates=True,
        )
    ]
    found = response.json()
    assert found["query"] == BODY["query"]
    assert [parent["rank"] for parent in found["ranked_parents"]] == [1, 2, 3]
    passage = found["ranked_parents"][0]["passage"]
    assert passage["text"] == TEXT
    assert passage["pages"] == {"first": 3, "last": 4}
    assert passage["validity"] == "superseded"
    assert passage["metadata"]["effective_from"] == "2024-01-01T00:00:00Z"
    assert found["candidates"][0]["hit"]["bm25_score"] is None
    assert found["versions"]["knowledge_base"] == 7


async def test_prompt_returns_messages_and_passages() -> None:
    desk = FakeDesk()
    async with client(desk) as http:
        response = await http.post("/v1/prompt", json={**BODY, "filters": FILTERS})
    assert [part["role"] for part in response.json()["prompt"]] == ["system", "user"]
    assert len(response.json()["ranked_parents"]) == 3
    assert desk.asked == [AS_MODEL]


async def test_an_answer_quotes_its_passages() -> None:
    async with client(FakeDesk()) as http:
        answer = (await http.post("/v1/generate", json=BODY)).json()
    assert answer["outcome"] == "answered"
    assert answer["abstention"] is None
    assert answer["prompt"] == []
    citation = answer["statements"][0]["citations"][0]
    assert citation["citation_id"] == CITED
    assert TEXT[citation["start"] : citation["end"]] == citation["quote"] == QUOTE
    assert answer["statements"][0]["flags"] == ["negation_missing"]
    assert answer["usage"] == {"prompt_tokens": 10, "completion_tokens": 5}


async def test_the_prompt_comes_when_asked_for() -> None:
    async with client(FakeDesk()) as http:
        answer = (await http.post("/v1/generate", json={**BODY, "want_prompt": True})).json()
    assert answer["prompt"][0] == {"role": "system", "content": "Quote."}


async def test_an_abstention_is_a_result_with_its_reason() -> None:
    async with client(FakeDesk(given=ABSTAINED)) as http:
        response = await http.post("/v1/generate", json=BODY)
    assert response.status_code == 200
    assert response.json()["outcome"] == "abstained"
    assert response.json()["statements"] == []
    assert response.json()["abstention"]["reason"] == "insufficient_evidence"


async def test_a_source_resolves() -> None:
    async with client(FakeDesk()) as http:
        response = await http.get(f"/v1/sources/{CITED}")
        head = await http.head(f"/v1/sources/{CITED}")
    assert response.json()["state"] == "superseded"
    assert response.json()["ended_at"] == "2025-01-01T00:00:00Z"
    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == response.headers["content-length"]


async def test_a_consult_shows_the_rated_procedures_and_what_was_read() -> None:
    async with client(FakeDesk()) as http:
        response = await http.post("/v1/consult", json={"scenario": "Headache."})
    body = response.json()
    assert response.status_code == 200
    assert (body["outcome"], body["decision"]) == ("answered", "recommended")
    assert body["variant"] == {
        "id": "headache-x",
        "topic": "Headache",
        "title": "Sudden headache. Initial imaging.",
        "citation_id": CITED,
    }
    assert body["procedures"] == [
        {
            "name": "CT head without IV contrast",
            "rating": 9,
            "category": "usually_appropriate",
            "radiation_level": "medium",
            "comment": "First.",
            "citation_ids": [CITED],
        }
    ]
    assert body["facts"] == [{"concept": "headache", "polarity": "present", "evidence": "Headache"}]
    assert body["assumptions"] == ["adult"]
    assert body["banner"] == "SYNTHETIC"
    assert body["candidates"][0]["fit"] == "fits"
    assert body["abstention"] is None


@pytest.mark.parametrize(
    ("path", "rpc"),
    [
        ("/v1/search", "Search"),
        ("/v1/prompt", "Prompt"),
        ("/v1/generate", "Generate"),
        ("/v1/generate:stream", "StreamGenerate"),
    ],
)
async def test_a_route_is_guarded_and_counted_as_its_rpc(path: str, rpc: str) -> None:
    labels = {"service": "rest", "method": rpc, "code": "OK"}
    name = "radref_rpc_server_duration_seconds_count"
    before = REGISTRY.get_sample_value(name, labels) or 0
    desk = FakeDesk()
    async with client(desk) as http:
        await http.post(path, json=BODY)
    assert desk.calls == [f"{GATEWAY}/{rpc}"]
    assert REGISTRY.get_sample_value(name, labels) == before + 1


async def test_a_request_id_goes_through_and_a_harmful_one_is_replaced() -> None:
    async with client(FakeDesk()) as http:
        kept = await http.post("/v1/search", json=BODY, headers={"X-Request-Id": "ris-42"})
        replaced = await http.post("/v1/search", json=BODY, headers={"X-Request-Id": "a b\tc"})
    assert kept.headers["x-request-id"] == kept.json()["request_id"] == "ris-42"
    assert replaced.headers["x-request-id"] == replaced.json()["request_id"] != "a b\tc"


async def test_answers_stay_out_of_caches() -> None:
    async with client(FakeDesk()) as http:
        response = await http.post("/v1/generate", json=BODY)
    assert response.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in response.headers


async def test_no_page_loads_scripts_from_elsewhere() -> None:
    async with client(FakeDesk()) as http:
        for path in ("/docs", "/redoc"):
            assert (await http.get(path)).status_code == 404
