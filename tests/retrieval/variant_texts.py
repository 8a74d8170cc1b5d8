"""Variants as JSON: a form of passages of the tests' own, so that search is tested apart from ingest's."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from radref.appropriateness.model import Criteria, Procedure, RadiationLevel, Urgency, Variant


def variant(identifier: str, **values: Any) -> Variant:
    fields = {
        "topic_id": "topic",
        "topic_title": "Topic",
        "title": identifier,
        "population": "adult",
        "urgency": Urgency.ROUTINE,
        "criteria": Criteria(),
        "keywords": (),
        "narrative": "",
        "procedures": (Procedure("no-imaging", "No imaging", 9, RadiationLevel.NONE),),
        "kb_version": "1",
        "synthetic": True,
    }
    return Variant(id=identifier, **{**fields, **values})


def text_of(one: Variant) -> str:
    return json.dumps(asdict(one))


def variant_from(text: str) -> Variant:
    """Inverse of `text_of`; raises ValueError for any other text."""
    values = json.loads(text)
    values["urgency"] = Urgency(values["urgency"])
    values["criteria"] = Criteria(**{name: tuple(items) for name, items in values["criteria"].items()})
    values["keywords"] = tuple(values["keywords"])
    values["procedures"] = tuple(
        Procedure(**{**one, "radiation_level": RadiationLevel(one["radiation_level"])})
        for one in values["procedures"]
    )
    return Variant(**values)
