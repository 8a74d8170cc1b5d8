from __future__ import annotations

import pytest

from evaluation.sections import in_section


@pytest.mark.parametrize(
    ("path", "gold"),
    [
        (["PART 892", "§ 892.1990 Breast transilluminator."], "892.1990"),
        (["Heart Anatomy", "Shape and Size of the Heart"], "Heart Anatomy > Shape and Size of the Heart"),
        (["Fluoroscopy"], "J. Fluoroscopy"),
        (["IV. Request for reconsideration"], "IV. Request for Reconsideration"),
        (
            ["Guide", "**E. General Responsibilities of a Facility to Patients**"],
            "E. GENERAL RESPONSIBILITIES OF A FACILITY TO PATIENTS, question 7",
        ),
        (["Глава 4", "Статья 13. Соблюдение врачебной тайны"], "Статья 13, часть 4"),
        (["Статья 20. Информированное согласие"], "Статьи 13, 20, 22"),
        (["§ 803.12 Where and how"], "803.10(a), 803.12, 803.17"),
        (["§ 175.25 Reports"], "175.25(a)-(d)"),
        (["Hip Joint", "Ligaments"], "Shoulder Joint; Hip Joint"),
        (["§360pp. Enforcement", "(b) Penalties"], "360pp(b) Penalties"),
        (["Приложение № 2"], "Приложение N 2"),
        (["III. Порядок оказания услуг"], "III, пункты 11, 15; IV, пункт 18"),
        (["Учет мнения"], "Учёт мнения"),
        (["Device Dimensions and Resonant Effects"], "III. > 4. a. Device Dimensions and Resonant Effects"),
        (["Civil penalties"], "B. Civil penalties"),
    ],
)
def test_in_section(path: list[str], gold: str) -> None:
    assert in_section(path, gold)


@pytest.mark.parametrize(
    ("path", "gold"),
    [
        (["§ 892.1990 Transilluminator"], "892.199"),
        (["§ 892.10 Scope"], "892.1000"),
        (["Статья 130. Иное"], "Статья 13, часть 4"),
        (["Статья 2"], "Пункты 1, 2"),
        (["Scope of part 7"], "GENERAL RESPONSIBILITIES, question 7"),
        (["Heart Anatomy"], "Heart Anatomy > Shape and Size of the Heart"),
        (["Scope"], ""),
        ([], "Scope"),
    ],
)
def test_not_in_section(path: list[str], gold: str) -> None:
    assert not in_section(path, gold)
