import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.answering.schema import parse_answer
from gateway.validation import PassageText, ValidatedAnswer, ValidationPolicy, validate
from inference_svc.generators.extractive import Embedding, ExtractiveGenerator
from inference_svc.generators.extractive.lexical import Stems
from inference_svc.generators.generator import Grounding

# English and Russian words that mean the same share a dimension, as a multilingual embedder would have it.
MEANINGS = {"доз": "dose", "предел": "limit", "беремен": "pregnant", "экран": "shield", "хран": "kept"}


async def embed_query(text: str) -> np.ndarray:
    return vector(text)


async def embed_texts(texts: Sequence[str]) -> np.ndarray:
    assert len(texts) <= 24
    return np.stack([vector(text) for text in texts])


def vector(text: str) -> np.ndarray:
    """Bag of stems hashed into 64 dimensions, unit length."""
    found = np.full(64, 1e-3, dtype=np.float32)
    for stem in Stems().of(text):
        name = next((meaning for root, meaning in MEANINGS.items() if stem.startswith(root)), stem)
        found[sum(name.encode()) * 31 % 64] += 1
    return found / np.linalg.norm(found)


GENERATOR = ExtractiveGenerator(Embedding(embed_query, embed_texts))

GALLBLADDER = Grounding(
    "g", "Accessory organs", ("The Gallbladder",),
    "The gallbladder is 8–10 cm (~3–4 in) long. It stores bile. Its wall is made of three layers.", (),
)  # fmt: skip
LIMITS = Grounding(
    "l", "Radiation code", ("Dose limits",),
    "The annual dose limits are:\n\n- 20 mSv for workers\n- 1 mSv for the public\n\n"
    "The dose limit for a pregnant worker is 1 mSv until birth. This limit does not apply to patients.\n\n"
    "## Records\n\nDose records are kept for 30 years.", (),
)  # fmt: skip
RUSSIAN = Grounding(
    "r", "Правила ОМС", ("Полис",),
    "Временное свидетельство действительно до получения полиса, но не более сорока пяти рабочих дней.\n\n"
    "Застрахованный вправе заменить страховую организацию один раз в год не позднее 1 ноября.", (),
)  # fmt: skip


async def answer(query: str, *passages: Grounding) -> ValidatedAnswer:
    text = await GENERATOR.generate(query, passages)
    sources = {p.citation_id: PassageText(p.text, p.section_path, p.title) for p in passages}
    result = validate(parse_answer(text), sources, ValidationPolicy())
    given_statements = len(json.loads(text)["statements"])
    assert result.counts.statements_kept == given_statements, (text, result.counts)
    assert result.counts.citations_misquoted == result.counts.citations_unknown == 0, text
    return result


async def test_answers_with_the_governing_piece() -> None:
    result = await answer("What is the dose limit for pregnant workers?", GALLBLADDER, LIMITS)
    assert "pregnant worker is 1 mSv" in result.statements[0].text
    assert "does not apply to patients" in result.statements[0].text
    assert result.statements[0].citations[0].id == "l"
    assert not result.insufficient


async def test_russian() -> None:
    result = await answer("Сколько действует временное свидетельство?", LIMITS, RUSSIAN)
    assert "сорока пяти рабочих дней" in result.statements[0].text


async def test_russian_question_over_english_passages() -> None:
    result = await answer("Какой предел дозы для беременных?", LIMITS)
    assert "1 mSv" in result.statements[0].text


@pytest.mark.parametrize(
    "query",
    [
        "Upper limit of normal gallbladder wall thickness in mm?",
        "How many days may the gallbladder store bile?",
        "What does a gallbladder operation cost?",
        "Which helium vent diameter must a magnet have?",
        "Какой процент пени начисляется за задержку?",
    ],
)
async def test_what_was_asked_must_stand_in_the_quotation(query: str) -> None:
    result = await answer(query, GALLBLADDER, RUSSIAN)
    assert result.statements == ()
    assert result.insufficient
    assert result.missing


async def test_missing_is_said_in_the_language_of_the_question() -> None:
    assert "passages" in (await answer("What effective dose does a chest CT deliver?", GALLBLADDER)).missing
    assert "фрагментах" in (await answer("Какая доза при флюорографии?", GALLBLADDER)).missing


async def test_no_passages() -> None:
    assert json.loads(await GENERATOR.generate("What is it?", ())) == {
        "analysis": "",
        "insufficient": True,
        "missing": "The passages found do not answer this question. Name the subject, condition or document.",
        "conflicts": [],
        "statements": [],
    }


async def test_same_input_same_output_and_at_most_five() -> None:
    text = "\n\n".join(f"The dose limit number {n} for workers in zone {n} is {n} mSv." for n in range(1, 40))
    many = Grounding("m", "Limits", (), text, ((0, 40),))
    first = await GENERATOR.generate("What is the dose limit for workers?", (many,))
    assert first == await GENERATOR.generate("What is the dose limit for workers?", (many,))
    assert 1 <= len(json.loads(first)["statements"]) <= 5


PIECES = st.sampled_from(
    ["The dose limit is 5 mSv.", "The following apply:", "- 5 mSv a year", "(a) 1,000 mGy;", "| Organ | mSv "
    "|\n| --- | --- |\n| Lens | 15 |",
     "| | 20 |", "# Limits 2019", "However, not below 0.5 mSv.", "It must be 5–10 °C.", "Доза не более 5 "
     "мЗв в год:", "1) 1 000 рублей;",
     "“Quoted” **bold** text of 720 mW/cm².", "* Note 5: see § 892.1990(a).", "Table 3. Limits", "Lens of 3 "
     "mm*", "$5 million.", "T12 to L3"]
)  # fmt: skip


@given(st.lists(PIECES, min_size=1, max_size=14), st.sampled_from(["\n\n", "\n"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
async def test_every_statement_passes_the_validator(pieces: list[str], separator: str) -> None:
    passage = Grounding("p", "Title 2020", ("Part 1", "Limits 2019"), separator.join(pieces), ())
    await answer("dose limit mSv for lens доза", passage)
