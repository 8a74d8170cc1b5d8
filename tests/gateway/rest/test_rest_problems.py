"""What goes wrong is a problem detail with the reason that gRPC sends."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from prometheus_client import REGISTRY

from radref import errors
from tests.gateway.rest.fake_desk import FakeDesk
from tests.gateway.rest.rest_client import BODY, GATEWAY, Refusing, client

PROBLEM = "application/problem+json"
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.InvalidInput("no", reason="UNKNOWN_TOPIC", field="filters.topics"), 400),
        (errors.NotFound("no", reason="UNKNOWN_CITATION"), 404),
        (errors.PreconditionFailed("no", reason="GATE_NOT_CALIBRATED"), 409),
        (errors.Overloaded("no", retry_after=1.2), 429),
        (errors.Cancelled("no"), 499),
        (errors.Internal("no"), 500),
        (errors.Unimplemented("no"), 501),
        (errors.Unavailable("no", metadata={"backend": "retrieval"}), 503),
        (errors.DeadlineExceeded("no"), 504),
    ],
)
@pytest.mark.parametrize("path", ["/v1/search", "/v1/generate", "/v1/generate:stream"])
async def test_an_error_of_the_desk_keeps_its_reason(
    error: errors.RadrefError, status: int, path: str
) -> None:
    async with client(FakeDesk(error=error)) as http:
        response = await http.post(path, json=BODY, headers={"X-Request-Id": "ris-42"})
    assert response.status_code == status
    assert response.headers["content-type"] == PROBLEM
    assert response.json() == {
        "type": f"urn:radref:error:{error.reason}",
        "title": error.reason.replace("_", " ").capitalize(),
        "status": status,
        "detail": "no",
        "instance": "urn:radref:request:ris-42",
        "reason": error.reason,
        "field": error.field,
        "metadata": error.metadata,
        "retry_after": error.retry_after,
    }
    assert response.headers.get("retry-after") == ("2" if error.retry_after else None)


async def test_a_defect_tells_nothing_but_the_request_id(capsys: pytest.CaptureFixture[str]) -> None:
    async with client(FakeDesk(error=KeyError("Ivanov, 1950"))) as http:
        response = await http.post("/v1/generate", json=BODY, headers={"X-Request-Id": "ris-43"})
    assert response.status_code == 500
    assert response.json()["reason"] == "INTERNAL"
    assert "Ivanov" not in response.text
    logged = capsys.readouterr()
    assert "ris-43" in logged.out + logged.err
    assert "KeyError" in logged.out + logged.err
    assert "Ivanov" not in logged.out + logged.err


@dataclass(frozen=True)
class Bad:
    body: Any
    reason: str
    field: str
    status: int = 400
    path: str = "/v1/search"
    headers: dict[str, str] = field(default_factory=dict)


@pytest.mark.parametrize(
    "bad",
    [
        Bad({}, "INVALID_FIELD", "query"),
        Bad([], "INVALID_FIELD", ""),
        Bad({"query": ""}, "EMPTY_TEXT", "query"),
        Bad({"query": " ?! "}, "EMPTY_TEXT", "query"),
        Bad({"query": "x" * 4001}, "TEXT_TOO_LONG", "query"),
        Bad({"query": 5}, "INVALID_FIELD", "query"),
        Bad({**BODY, "qeury": "x"}, "INVALID_FIELD", "qeury"),
        Bad({**BODY, "filters": {"topic": "x"}}, "UNKNOWN_FILTER", "filters.topic"),
        Bad({**BODY, "filters": {"topics": ["x", ""]}}, "EMPTY_TEXT", "filters.topics.1"),
        Bad({**BODY, "filters": {"year_from": 1799}}, "OUT_OF_RANGE", "filters.year_from"),
        Bad({**BODY, "filters": {"year_to": True}}, "INVALID_FIELD", "filters.year_to"),
        Bad({**BODY, "limits": {"parents": 1001}}, "OUT_OF_RANGE", "limits.parents"),
        Bad({**BODY, "limits": {"parents": "5"}}, "INVALID_FIELD", "limits.parents"),
        Bad({**BODY, "legs": ["sparse"]}, "INVALID_FIELD", "legs.0"),
        Bad({**BODY, "want_candidates": 1}, "INVALID_FIELD", "want_candidates"),
        Bad({**BODY, "model": "gpt"}, "UNKNOWN_MODEL", "model", path="/v1/generate"),
        Bad({"scenario": "x" * 4001}, "TEXT_TOO_LONG", "scenario", path="/v1/consult"),
        Bad(b'{"query": "\\ud800"}', "INVALID_FIELD", "query"),
        Bad(b'{"query": ', "INVALID_FIELD", ""),
        Bad(b"[" * 60_000, "INVALID_FIELD", ""),
        Bad(b'{"query": "\xff"}', "INVALID_FIELD", ""),
        Bad(b"", "INVALID_FIELD", ""),
        Bad({"query": "x" * 70_000}, "TEXT_TOO_LONG", "", 413),
        Bad(BODY, "INVALID_FIELD", "content-type", 415, headers={"content-type": "text/plain"}),
        Bad(
            BODY,
            "INVALID_FIELD",
            "content-type",
            415,
            headers={"content-type": "application/json; charset=cp1251"},
        ),
        Bad(BODY, "OUT_OF_RANGE", "request-timeout", headers={"Request-Timeout": "0"}),
        Bad(BODY, "OUT_OF_RANGE", "request-timeout", headers={"Request-Timeout": "1e2"}),
    ],
    ids=lambda bad: str(bad)[:60],
)
async def test_a_wrong_request_is_told_which_field(bad: Bad) -> None:
    content = {"content": bad.body} if isinstance(bad.body, bytes) else {"json": bad.body}
    async with client(FakeDesk()) as http:
        response = await http.post(bad.path, **content, headers={**JSON, **bad.headers})
    problem = response.json()
    assert (response.status_code, problem["reason"], problem["field"]) == (bad.status, bad.reason, bad.field)
    assert response.headers["content-type"] == PROBLEM


async def test_a_body_in_chunks_is_bounded_too() -> None:
    async def chunks():
        for _ in range(70):
            yield b" " * 1024

    async with client(FakeDesk()) as http:
        response = await http.post("/v1/search", content=chunks(), headers=JSON)
    assert response.status_code == 413


async def test_input_is_not_repeated() -> None:
    async with client(FakeDesk()) as http:
        for body in ({**BODY, "rerank": "Ivanov"}, {"query": ["Ivanov"]}, {**BODY, "filters": "Ivanov"}):
            response = await http.post("/v1/search", json=body)
            assert response.status_code == 400
            assert "Ivanov" not in response.text


@pytest.mark.parametrize(
    "path", ["/v1/sources/xyz", "/v1/sources/" + "A" * 20, "/v1/sources/" + "a" * 20 + "%0A"]
)
async def test_what_is_no_citation_id_is_refused(path: str) -> None:
    async with client(FakeDesk()) as http:
        response = await http.get(path)
    assert (response.status_code, response.json()["field"]) == (400, "citation_id")


async def test_unknown_paths_and_methods_are_problems_and_no_labels() -> None:
    async with client(FakeDesk()) as http:
        missing = await http.get("/v1/patients/ivanov")
        wrong = await http.put("/v1/search", json=BODY)
        options = await http.options("/v1/search")
    assert (missing.status_code, missing.json()["reason"]) == (404, "UNKNOWN_METHOD")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert wrong.headers["content-type"] == PROBLEM
    assert (options.status_code, options.headers["allow"]) == (204, "POST")
    methods = {
        sample.labels["method"]
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.labels.get("service") == "rest"
    }
    assert not any("ivanov" in method for method in methods)


async def test_who_may_not_call_learns_nothing_of_the_body() -> None:
    guard = Refusing(errors.Overloaded("busy", retry_after=1))
    async with client(FakeDesk(), guard) as http:
        response = await http.post(
            "/v1/generate",
            json={"nonsense": 1},
            headers={"Authorization": "Bearer t", "X-Request-Id": "ris-44"},
        )
        unknown = await http.get("/nowhere")
    assert (response.status_code, response.json()["reason"]) == (429, "OVERLOADED")
    assert unknown.status_code == 404
    assert guard.asked == [
        {
            "method": f"{GATEWAY}/Generate",
            "authorization": "Bearer t",
            "request_id": "ris-44",
            "timeout": 60,
        }
    ]


async def test_a_longer_deadline_is_shortened_to_the_sites() -> None:
    guard = Refusing(errors.Overloaded("busy"))
    async with client(FakeDesk(), guard) as http:
        for asked in ("1", "120", "99999"):
            await http.post("/v1/generate", json=BODY, headers={"Request-Timeout": asked})
    assert [asked["timeout"] for asked in guard.asked] == [1, 120, 120]
