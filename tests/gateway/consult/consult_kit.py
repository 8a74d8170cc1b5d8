"""A consult over the sample base, with a scripted search and a scripted language model."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import cache
from pathlib import Path

from gateway.consult.consulting import Consulting
from gateway.consult.settings import ConsultProfile, ConsultSettings
from gateway.consult.terminology.load import load_terminology
from gateway.consult.terminology.model import Terminology
from gateway.model import DocumentInfo, GenerationEnd, Passage, RankedPassage, Retrieved, Signals
from radref.appropriateness.documents import CONSULT_TOPIC, variant_document_id
from radref.appropriateness.kb_file import read_kb
from radref.appropriateness.model import Variant
from radref.appropriateness.passage import render
from tests.gateway.test_pipeline import Generating, Searching

SAMPLE = Path(__file__).parents[3] / "samples" / "appropriateness" / "kb.yaml"
MAX_CHARACTERS = 4000
MODEL = "qwen"
INDEX_VERSION = 7

THUNDERCLAP = (
    "45-year-old with the worst headache of her life that hit maximum intensity within seconds "
    "while exercising."
)
UNCOMPLICATED = (
    "Warehouse worker, two weeks of low back pain after lifting boxes. Denies fever, weight loss or bladder "
    "symptoms. Strength is normal."
)
CHILD = "Six-year-old with abdominal pain in the right lower quadrant, suspected appendicitis."
CAPITAL = "What is the capital of Australia?"


@cache
def terminology() -> Terminology:
    return load_terminology()


@cache
def base() -> tuple[Variant, ...]:
    return read_kb(SAMPLE).variants


def variant(variant_id: str) -> Variant:
    return next(one for one in base() if one.id == variant_id)


def citation(variant_id: str) -> str:
    """The citation id of a variant of the sample base."""
    return f"{[one.id for one in base()].index(variant_id):020x}"


def passage_of(
    found: Variant, citation_id: str, *, rrf: float = 0.0, bm25: float | None = None
) -> RankedPassage:
    return RankedPassage(
        passage=Passage(
            citation_id=citation_id,
            document_id=variant_document_id(found.id),
            version=1,
            ordinal=0,
            text=render(found),
            section_path=(),
            document=DocumentInfo(title=found.title, topic=CONSULT_TOPIC, language="en"),
        ),
        rrf_score=rrf,
        children=(),
        bm25_score=bm25,
    )


def with_text(passage: RankedPassage, text: str, citation_id: str = f"{999:020x}") -> RankedPassage:
    return replace(passage, passage=replace(passage.passage, text=text, citation_id=citation_id))


def found(*variant_ids: str, scores: tuple[float, ...] = ()) -> tuple[RankedPassage, ...]:
    """Passages as the search gives them; without `scores` as the fused one does, with them as BM25."""
    ids = variant_ids or tuple(one.id for one in base())
    return tuple(
        passage_of(
            variant(each),
            citation(each),
            rrf=0.0 if scores else 1 / (60 + place),
            bm25=scores[place] if scores else None,
        )
        for place, each in enumerate(ids)
    )


def retrieved(parents: tuple[RankedPassage, ...] | None = None) -> Retrieved:
    """What the search gave; None = every variant of the sample base."""
    parents = found() if parents is None else parents
    return Retrieved(
        parents=parents,
        candidates=(),
        failed_legs=(),
        signals=Signals(None, max((each.bm25_score or 0.0 for each in parents), default=0.0), 1.0),
        embedder_fingerprint="e5@1",
        index_version=INDEX_VERSION,
        timings={"search": 2.0},
    )


class Silent:
    """A language model nobody may ask."""

    def generate(self, **asked: object) -> AsyncGenerator[str | GenerationEnd, None]:
        raise AssertionError("no language model is set")


def consulting(
    search: Retrieved | None = None,
    generating: Generating | Silent | None = None,
    *,
    profile: ConsultProfile = ConsultProfile.DEFAULT,
    **settings: object,
) -> tuple[Consulting, Searching]:
    """A consult; with `generating` a language model chooses."""
    searching = Searching(search or retrieved())
    made = Consulting(
        searching=searching,
        generating=generating or Silent(),
        terminology=terminology(),
        settings=ConsultSettings(profile=profile, model=MODEL if generating else "", **settings),
        max_characters=MAX_CHARACTERS,
    )
    return made, searching


def chooses(*named: tuple[str, str], insufficient: bool = False) -> str:
    """A language model's output. `named`: (procedure, citation id)."""
    return json.dumps(
        {
            "analysis": "secret thoughts",
            "insufficient_evidence": insufficient,
            "recommendations": [
                {"procedure": procedure, "citation_id": citation_id} for procedure, citation_id in named
            ],
        }
    )


def best_of(variant_id: str) -> tuple[str, str]:
    """The first procedure of a variant, with its citation, as a model names it."""
    return variant(variant_id).procedures[0].name, citation(variant_id)
