"""A nuclide, form or room that the question names must stand in what answers it."""

import pytest

from radref.asked import read_specifics


@pytest.mark.parametrize(
    ("query", "passage", "contradicted"),
    [
        ("Below which activity is a Ga-68 spill minor?", "Tc-99m: 90 MBq; F-18: 40 MBq", True),
        ("Below which activity is a Tc-99m spill minor?", "Tc-99m: 90 MBq; F-18: 40 MBq", False),
        ("Below which activity is a Tc-99m spill minor?", "spills of 99mTc above 90 MBq", False),
        ("Below which activity is an F-18 spill minor?", "spills of F 18 above 40 MBq", False),
        ("Who signs form RP-11?", "A carer signs form RP‑11.", False),
        ("Who signs form RP-11?", "A carer signs form RP-110.", True),
        ("Кто утверждает форму РБ-3?", "Форму РБ-3 утверждает заведующий.", False),
        ("Кто утверждает форму РБ-3?", "Форму РБ-4 утверждает заведующий.", True),
        ("What is the dose limit?", "The dose limit is 20 mSv.", False),
        ("A follow-up after 6-12 months?", "Follow-up is due after a year.", False),
    ],
)
def test_designation(query: str, passage: str, contradicted: bool) -> None:
    assert read_specifics(query).contradicted_by(passage) is contradicted
