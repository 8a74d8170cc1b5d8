import pytest

from gateway.validation.normalise import normalise
from gateway.validation.policy import ValidationPolicy
from gateway.validation.quotes import locate


def found(quote: str, passage: str) -> list[str]:
    spans = locate(quote, normalise(passage), ValidationPolicy())
    return [passage[start:end] for start, end in spans]


@pytest.mark.parametrize(
    ("quote", "passage", "shown"),
    [
        ("the dose limit is 5 mSv", "So the dose limit is 5 mSv.", "the dose limit is 5 mSv"),
        ("The Dose  limit", "the\ndose limit applies", "the\ndose limit"),
        ('the so-called "dose limit"', "the so‑called “dose limit” of", "the so‑called “dose limit”"),
        ("предел дозы ещё ниже", "Предел дозы еще ниже.", "Предел дозы еще ниже"),
        ('"the dose limit is 5 mSv."', "So the dose limit is 5 mSv.", "the dose limit is 5 mSv"),
        ("…the dose limit is 5 mSv…", "So the dose limit is 5 mSv.", "the dose limit is 5 mSv"),
        ("Lens 15 rem", "| Lens | 15 rem |", "Lens | 15 rem"),
        ("limit of 5 mSv", "**limit** of *5 mSv* applies", "limit** of *5 mSv"),
        ("must not exceed 5", "must not exceed 5 % of", "must not exceed 5 %"),
        ("5 mSv is allowed", "≤ 5 mSv is allowed", "≤ 5 mSv is allowed"),
        ("1,000 is the penalty", "$1,000 is the penalty", "$1,000 is the penalty"),
        ("5 degrees are kept", "at -5 degrees are kept", "-5 degrees are kept"),
        ("720 mW/cm is the limit", "720 mW/cm² is the limit", None),
        ("limit is 720 mW/cm", "limit is 720 mW/cm² today", "limit is 720 mW/cm²"),
        ("Pterion", "- Pterion\n- Bregma", "Pterion"),
        ("гадобутрол", "| V08CA | гадобутрол | раствор |", "гадобутрол"),
    ],
)
def test_located(quote: str, passage: str, shown: str | None) -> None:
    assert found(quote, passage) == ([] if shown is None else [shown])


@pytest.mark.parametrize(
    ("quote", "passage"),
    [
        ("ionizing radiation is used", "non-ionizing radiation is used"),
        ("5 mSv per year", "a limit of 0.5 mSv per year"),
        ("5 мЗв в год", "предел 1,5 мЗв в год"),
        ("no more than 5", "no more than 5.6 mSv"),
        ("no more than 5", "no more than 5,000 people"),
        ("no more than 300", "no more than 300 000 people"),
        ("10 mSv are given", "5-10 mSv are given"),
        ("at least 5", "at least 5–10 mSv"),
        ("apply to all workers", "reapply to all workers"),
        ("облучение запрещено", "переоблучение запрещено"),
        ("the", "the dose limit"),
        ("of the", "limit of the dose"),
        ("dose", "the dose limit"),
        ("limit ... 5 mSv", "limit for workers is 5 mSv"),
        ("", "text"),
        ("5 mSv per year", "a limit of .5 mSv per year"),
        ("***", "text *** text"),
        ("limit is 50 mSv", "limit is 20 mSv"),
    ],
)
def test_refused(quote: str, passage: str) -> None:
    assert found(quote, passage) == []


def test_every_place_is_found() -> None:
    assert len(found("limit is 5 mSv", "limit is 5 mSv\n\nlimit is 5 mSv")) == 2
