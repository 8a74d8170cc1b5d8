"""The facade keeps what its OpenAPI description promises, for generated requests, right and wrong ones."""

import os

import hypothesis
import schemathesis
from schemathesis.config import SchemathesisConfig

from gateway.rest.app import create_app
from radref.service.admission import Admission
from radref.service.guard import Guard
from tests.gateway.rest.fake_desk import LIMITS, FakeDesk

# More for a longer hunt: RADREF_TEST_REST_EXAMPLES=2000.
EXAMPLES = int(os.environ.get("RADREF_TEST_REST_EXAMPLES", "25"))

APP = create_app(FakeDesk(), Guard(admission=Admission(64, 64)), LIMITS)
CONFIG = SchemathesisConfig.from_dict({"seed": 1, "generation": {"deterministic": True}})
SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", APP, config=CONFIG)


@SCHEMA.parametrize()
@hypothesis.settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
def test_every_response_is_as_described(case: schemathesis.Case) -> None:
    case.call_and_validate()
