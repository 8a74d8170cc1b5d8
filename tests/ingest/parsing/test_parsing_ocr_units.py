"""Units in letters of the other alphabet, as tesseract 5.3 wrote them, and words that must stay."""

from __future__ import annotations

import pytest

from ingest_svc.parsing.ocr.engine import Line, Word
from ingest_svc.parsing.ocr.units import unsure_units, with_units


def line(text: str, confidence: float = 0.9) -> Line:
    words = (Word(part, 10 * at, 0, 10 * at + 9, 20, confidence) for at, part in enumerate(text.split()))
    return Line(tuple(words), 0, 0)


@pytest.mark.parametrize(
    ("read", "meant"),
    [
        ("20 m3b в год", "20 мЗв в год"),
        ("20 м3в/год", "20 мЗв/год"),
        ("20 м3Зв/год", "20 мЗв/год"),
        ("(20 m3b)", "(20 мЗв)"),
        ("5 MK3B,", "5 мкЗв,"),
        ("Доза, m3b", "Доза, мЗв"),
        ("20 ш5уУ", "20 mSv"),
        ("20 т5у.", "20 mSv."),
        ("20 и5у", "20 µSv"),
        ("20 шСу", "20 mGy"),
        ("20 сбу", "20 cGy"),
        ("120 КУ", "120 kV"),
        ("200 тА$", "200 mAs"),
        ("350 тд I/mL", "350 mg I/mL"),
        ("0,25 мм РЬ", "0,25 мм Pb"),
        ("350 мГр:см", "350 мГр·см"),
        ("выполнена РЕТ/СТ", "выполнена PET/CT"),
    ],
)
def test_units_are_restored(read: str, meant: str) -> None:
    assert with_units([line(read)])[0].text == meant


@pytest.mark.parametrize(
    "text",
    [
        "20 мЗв", "20 mSv", "20 мГр", "5 кВ", "0,25 мм", "3 мл/с", "20 µSv", "10 MHz",
        # Pieces, articles, flats, cubic metres, years, litres.
        "20 шт", "п. 3 ст. 27", "д. 5 кв. 12", "12 м3 воздуха", "2012 г.", "5 л", "10 МВт", "3 мв",
        # Words and abbreviations after a number.
        "1 и 2", "группы 1 по", "на 2 ни", "3 из 5", "5 СУ", "10 МВА", "2 тома", "3 мес", "18 лет",
        # No number before: labels and names.
        "m3b", "Модель КУ серии", "КУ", "аппарат РЬ",
    ],
)  # fmt: skip
def test_other_words_stay(text: str) -> None:
    assert with_units([line(text)])[0].text == text


def test_unit_read_badly_is_told() -> None:
    assert unsure_units([line("20 Sv a year", 0.34)])
    assert not unsure_units([line("20 Sv a year", 0.5)])
    assert not unsure_units([line("a dim word", 0.2)])
