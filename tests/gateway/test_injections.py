"""Attacks in documents and questions: what reaches the model, and the user when the model obeys."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import yaml

from gateway.gate import GateThresholds
from gateway.lookalikes import skeleton
from gateway.model import (
    Answer,
    ChildHit,
    DocumentInfo,
    Filters,
    GenerationEnd,
    Outcome,
    Passage,
    RankedPassage,
    Reranked,
    Retrieved,
    Signals,
)
from gateway.pipeline import Pipeline, PipelineLimits
from gateway.prompting.neutralise import neutralise
from gateway.prompting.prompt import build_prompt
from gateway.validation import ValidationPolicy

ROOT = Path(__file__).parents[2]
ATTACKS = yaml.safe_load((ROOT / "samples" / "injections.yaml").read_text(encoding="utf-8"))
ID = "0f1e2d3c4b5a69788796"
HARMLESS = "Wait 15 minutes after the injection of Gadovane. Аппарат включают через 15 минут."
QUESTION = "How long do I wait after the injection?"


def attack_passage(entry: dict) -> Passage:
    text = entry.get("document", HARMLESS)
    document = DocumentInfo(title=text, topic="safety", language="en", year=2024)
    return Passage(ID, "doc", 1, 0, text, (text,), document)


def case_ids(entry: dict) -> str:
    return entry["id"]


def test_there_are_twenty_attacks_of_their_own_names() -> None:
    assert len({entry["id"] for entry in ATTACKS}) == len(ATTACKS) >= 20


@pytest.mark.parametrize("entry", ATTACKS, ids=case_ids)
def test_the_model_reads_data_inside_our_delimiters_only(entry: dict) -> None:
    question = entry.get("question", QUESTION)
    system, user = build_prompt(question, [attack_passage(entry)])
    assert system.content == build_prompt(QUESTION, [])[0].content
    for token in entry["gone"]:
        assert token not in user.content
    # The look-alikes that neutralising puts in are harmless; all others count as what they look like.
    plain = skeleton(user.content.translate(dict.fromkeys(map(ord, "‹›⟦⟧¦"), " "))).casefold()
    for delimiter in ("context", "question", "passage"):
        assert plain.count(f"</{delimiter}>") == 1
        assert plain.count(f"<{delimiter}>") + plain.count(f"<{delimiter} id=") == 1
    assert "<|" not in plain
    assert "|>" not in plain
    assert "[inst" not in plain
    assert neutralise(neutralise(question)) == neutralise(question)


class Searching:
    def __init__(self, passage: Passage) -> None:
        self.passage = passage

    async def retrieve(self, query: object) -> Retrieved:
        text = self.passage.text
        hit = ChildHit(0, 0, len(text), 0.01, (), dense_score=0.95)
        parent = RankedPassage(self.passage, 0.02, (hit,))
        return Retrieved((parent,), (), (), Signals(0.95, 20.0, 1.0), "f" * 16, 1, {})


class Reranking:
    async def rerank(self, query: str, passages: object) -> Reranked:
        raise AssertionError("not asked for")


class Obeying:
    """A model that does all an attack asks."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def generate(self, **_: object) -> AsyncGenerator[str | GenerationEnd, None]:
        yield self.text
        yield GenerationEnd("obeying", "g" * 16)


def obeyed(entry: dict) -> str:
    if "raw" in entry:
        return entry["raw"].replace("{id}", ID)
    answer = {"analysis": "", "insufficient": False, "missing": "", "conflicts": [], **entry["model"]}
    return json.dumps(answer).replace("{id}", ID)


async def shown(entry: dict) -> Answer:
    pipeline = Pipeline(
        searching=Searching(attack_passage(entry)),
        reranking=Reranking(),
        generating=Obeying(obeyed(entry)),
        gate=GateThresholds(embedder_fingerprint="f" * 16),
        policy=ValidationPolicy(),
        limits=PipelineLimits(
            max_query_characters=4000,
            generation_parents=5,
            max_prompt_tokens=32_768,
            max_answer_tokens=2048,
            models=("obeying",),
            rerank=False,
        ),
    )
    return await pipeline.answer(entry.get("question", QUESTION), Filters())


@pytest.mark.parametrize("entry", ATTACKS, ids=case_ids)
async def test_an_obedient_model_reaches_nobody(entry: dict) -> None:
    answer = await shown(entry)
    if "raw" in entry:
        assert answer.outcome is Outcome.ABSTAINED
    texts = [statement.text for statement in answer.statements]
    texts += [notice.message for notice in answer.notices]
    texts += [answer.abstention.message] if answer.abstention else []
    for text in texts:
        for word in entry["never"]:
            assert word not in text
    assert all(citation.id == ID for statement in answer.statements for citation in statement.citations)
