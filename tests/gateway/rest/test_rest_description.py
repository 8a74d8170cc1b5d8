"""The committed description is the served one."""

from pathlib import Path

from gateway.rest.app import create_routes
from gateway.rest.description import as_text, default_description
from gateway.rest.limits import SiteLimits
from tests.gateway.rest.fake_desk import FakeDesk

COMMITTED = Path(__file__).parents[3] / "docs" / "openapi.json"


def test_the_committed_description_is_fresh() -> None:
    assert COMMITTED.read_text(encoding="utf-8") == as_text(default_description()), "run scripts/openapi.sh"


def test_it_publishes_the_limits_of_the_site() -> None:
    described = create_routes(FakeDesk(), SiteLimits(123, ("extractive", "big"), 45)).openapi()
    request = described["components"]["schemas"]["GenerateRequest"]["properties"]
    assert request["query"]["maxLength"] == 123
    assert request["model"]["enum"] == ["", "extractive", "big"]
    assert "site's 45" in str(described["paths"]["/v1/generate"]["post"]["parameters"])
