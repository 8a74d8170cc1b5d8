"""Few words are a question, too: none of these is stopped by the evidence gate over the samples."""

import pytest

from gateway import wording
from radref.api.gateway.v1 import answer_pb2
from tests.e2e.conftest import Running

pytestmark = pytest.mark.e2e

TERSE = (
    "PE workup", "МРТ безопасность", "dose limits", "spill procedure", "apron hole", "eGFR contrast",
    "MR zones",
    "badge period", "kidney size", "quench", "CTDIvol head", "pleural effusion size", "lens dose limit",
    "record retention", "SMA variants", "anaphylaxis contrast", "air calibration", "room shielding",
    "critical findings", "пределы доз", "квенч", "хранение снимков", "объём щитовидной", "фартук трещина",
    "гадолиний дети", "дозиметр срок", "категория К5", "контроль качества", "размеры почки",
    "экранирование кабинета", "беременность доза",
)  # fmt: skip
FOREIGN = (
    "What is the capital of Australia?",
    "Who won the 2018 football world cup?",
    "best pizza in Naples",
)


async def test_terse_questions_pass_the_gate(stack: Running) -> None:
    stopped = []
    async with stack.client() as client:
        for question in TERSE:
            answer = await client.generate(question)
            if answer.abstention.message in (
                wording.weak_evidence(question),
                wording.nothing_found(question),
                wording.foreign(question),
            ):
                stopped.append(question)
    assert stopped == []


async def test_foreign_questions_get_no_answer(stack: Running) -> None:
    async with stack.client() as client:
        for question in FOREIGN:
            answer = await client.generate(question)
            assert answer.outcome == answer_pb2.OUTCOME_ABSTAINED, question
