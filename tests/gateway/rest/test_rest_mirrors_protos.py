"""The JSON has the fields and values of the protobuf API: a field added there must not be missing here."""

from typing import Any, get_args

import pytest
from google.protobuf.descriptor import Descriptor, EnumDescriptor
from pydantic import BaseModel

from gateway.rest.models import answers, consults, passages, requests
from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2, consult_pb2, gateway_pb2

MODELS = (
    *(requests.SearchRequest, requests.SearchFilters, requests.SearchLimits, requests.PromptRequest),
    *(requests.GenerateRequest, requests.StreamGenerateRequest, requests.ConsultRequest),
    *(passages.PageRange, passages.DocumentMetadata, passages.Passage, passages.Span, passages.ChildHit),
    *(passages.RankedParent, passages.RankedCandidate, passages.GetSourceResponse),
    *(answers.PromptPart, answers.Citation, answers.Statement, answers.Abstention, answers.Notice),
    answers.QuerySignals,
    *(answers.Contradiction, answers.ContradictingPlace),
    *(answers.ValidationCounts, answers.StageTiming, answers.Versions, answers.TokenUsage),
    *(answers.SearchResponse, answers.PromptResponse, answers.GenerateResponse),
    *(answers.StreamSources, answers.StreamEnd),
    *(consults.ConsultResponse, consults.ConsultVariant, consults.ConsultProcedure, consults.ScenarioFact),
    consults.ConsultCandidate,
)
FILES = (documents_pb2, answer_pb2, consult_pb2, gateway_pb2)
# What an unset enumeration means in JSON; elsewhere it is never sent.
UNSET = {"Validity": "unknown", "RerankMode": "default", "NewerPlace": "unknown"}
# A passage that can be cited was indexed: the states before that cannot occur.
NOT_CITED = {"received", "parsed", "approved", "rejected", "failed"}


def descriptor(name: str) -> Descriptor:
    return next(
        file.DESCRIPTOR.message_types_by_name[name]
        for file in FILES
        if name in file.DESCRIPTOR.message_types_by_name
    )


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_fields_are_those_of_the_message(model: type[BaseModel]) -> None:
    assert set(model.model_fields) == {field.name for field in descriptor(model.__name__).fields}


def literals(annotation: Any) -> set[str]:
    values: set[str] = set()
    for part in get_args(annotation):
        values |= {part} if isinstance(part, str) else literals(part)
    return values


def words(enum: EnumDescriptor) -> set[str]:
    prefix = "".join(f"_{c}" if c.isupper() else c.upper() for c in enum.name).lstrip("_").upper() + "_"
    named = {value.name.removeprefix(prefix).lower() for value in enum.values} - {"unspecified"}
    return (named | ({UNSET[enum.name]} if enum.name in UNSET else set())) - NOT_CITED


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_values_are_those_of_the_enumeration(model: type[BaseModel]) -> None:
    for field in descriptor(model.__name__).fields:
        if field.enum_type is not None:
            assert literals(model.model_fields[field.name].annotation) == words(field.enum_type), field.name


def test_every_rpc_but_the_audit_has_a_route() -> None:
    from gateway.rest.app import create_routes
    from tests.gateway.rest.fake_desk import LIMITS, FakeDesk

    routes = {route.name for route in create_routes(FakeDesk(), LIMITS).routes}
    missing = set(gateway_pb2.DESCRIPTOR.services_by_name["GatewayService"].methods_by_name) - routes
    assert missing == {"SubmitFeedback", "QueryAudit", "ListFeedback"}
