"""Age, sex, pregnancy and how long it lasts, as referrers write them."""

import pytest

from gateway.consult.patient import Sex, age_of, sex_of
from gateway.consult.scenario import read_scenario
from gateway.consult.scope import Polarity
from gateway.consult.terminology.load import load_terminology


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("45-year-old with headache", 45),
        ("45 yo", 45),
        ("72 y/o man", 72),
        ("28F, RLQ pain", 28),
        ("58 M with back pain", 58),
        ("M 61, sudden pain", 61),
        ("six-year-old with pain", 6),
        ("forty-two-year-old", 42),
        ("aged 45", 45),
        ("a lady of 64", 64),
        ("woman, 34, flank pain", 34),
        ("in her thirties", 30),
        ("in his 60s", 60),
        ("18 months old", 1.5),
        ("женщина 35 лет", 35),
        ("Ж., 64 г., боль", 64),
        ("8-летний мальчик", 8),
        ("15-year history of migraine", None),
        ("34 weeks pregnant", None),
        ("walks 100 m", None),
        ("fell 3 m onto concrete", None),
        ("T 38.6, HR 110", None),
        ("back pain for 2 years", None),
        ("The 30-year-old husband of this 28-year-old", None),
    ],
)
def test_age(text: str, years: float | None) -> None:
    told = age_of(text)
    assert (round(told.years, 1) if told else None) == years


@pytest.mark.parametrize(
    ("text", "sex"),
    [
        ("She has pain", Sex.FEMALE),
        ("28F", Sex.FEMALE),
        ("a 40-year-old man", Sex.MALE),
        ("Her father had cancer, she has pain", Sex.FEMALE),
        ("His wife noticed that he is confused", Sex.MALE),
        ("headache", Sex.UNKNOWN),
        ("Женщина 35 лет", Sex.FEMALE),
    ],
)
def test_sex(text: str, sex: Sex) -> None:
    assert sex_of(text) is sex


@pytest.mark.parametrize(
    ("text", "present"),
    [
        ("22/40, flank pain", True),
        ("31+2/40 with pain", True),
        ("G2P1, RLQ pain", True),
        ("G2P2, RLQ pain", None),
        ("30 weeks pregnant", True),
        ("at 28 weeks gestation", True),
        ("second trimester", True),
        ("expecting her first child", True),
        ("beta-hCG positive", True),
        ("β-hCG negative", False),
        ("preg test neg", False),
        ("not pregnant", False),
        ("45-year-old man", False),
        ("70-year-old woman", False),
        ("pain for 3 weeks", None),
        ("postmenopausal", False),
    ],
)
def test_pregnancy(text: str, present: bool | None) -> None:
    states = read_scenario(text, load_terminology()).polarities("pregnancy")
    wanted = {True: {Polarity.PRESENT}, False: {Polarity.ABSENT}, None: set()}[present]
    assert states == wanted


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("pain for 3 weeks", [21]),
        ("pain x 5 days", [5]),
        ("3/52 of pain", [21]),
        ("2/7 hx", [2]),
        ("pain since yesterday", [1]),
        ("since this morning", [0.5]),
        ("a week of pain", [7]),
        ("for a couple of weeks", [14]),
        ("8 to 10 weeks of pain", [70]),
        ("pain since Tuesday", [7]),
        ("pain since adolescence", [1825]),
        ("three years of pain", [1095.75]),
        ("lifted a box last week", [14]),
        ("боль 5 дней", [5]),
        ("45-year-old", []),
        ("30 weeks pregnant", []),
        ("twice every 2 weeks", []),
    ],
)
def test_durations(text: str, days: list[float]) -> None:
    assert [span.days for span in read_scenario(text, load_terminology()).durations] == days


@pytest.mark.parametrize(
    ("text", "concept", "polarity"),
    [
        ("temp 38.6", "fever", Polarity.PRESENT),
        ("T 36.8", "fever", Polarity.ABSENT),
        ("temperature of 101 F", "fever", Polarity.PRESENT),
        ("WBC 15", "leukocytosis", Polarity.PRESENT),
        ("CRP was raised at 80", "raised-inflammatory-markers", Polarity.PRESENT),
        ("CRP 2", "raised-inflammatory-markers", Polarity.ABSENT),
        ("D-dimer 1200", "positive-d-dimer", Polarity.PRESENT),
        ("D-dimer 0.3 mg/L", "negative-d-dimer", Polarity.PRESENT),
        ("HR 118", "tachycardia", Polarity.PRESENT),
        ("sats 88%", "hypoxia", Polarity.PRESENT),
        ("Wells 6", "high-pretest-probability", Polarity.PRESENT),
    ],
)
def test_measurements(text: str, concept: str, polarity: Polarity) -> None:
    assert read_scenario(text, load_terminology()).polarities(concept) == {polarity}


def test_an_unknown_sex_may_be_pregnant() -> None:
    terminology = load_terminology()
    assert read_scenario("RLQ pain", terminology).may_be_pregnant
    assert read_scenario("28F RLQ pain", terminology).may_be_pregnant
    assert not read_scenario("28M RLQ pain", terminology).may_be_pregnant
    assert not read_scenario("70F RLQ pain", terminology).may_be_pregnant
    assert not read_scenario("28F RLQ pain, hCG negative", terminology).may_be_pregnant
