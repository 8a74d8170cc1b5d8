import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.validation.language import in_other_script, is_composed_of
from gateway.validation.statement_text import foreign_addresses, shown_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Wait 15 min [0f1e2d3c4b5a69788796].", "Wait 15 min."),
        ("Wait 15 min (id: 0f1e2d3c4b5a69788796, 1f1e2d3c4b5a69788796).", "Wait 15 min."),
        ("Wait 15 min [deadbeef...].", "Wait 15 min."),
        ("Wait 15 min 【deadbeefdeadbeefdead】.", "Wait 15 min."),
        ("Wait 15 min [dеаdbееfdеаdbееfdеаd].", "Wait 15 min."),  # Cyrillic letters
        ("Wait ０ｆ１ｅ２ｄ３ｃ４ｂ５ａ６９７８８７９６ 15 min.", "Wait 15 min."),
        ("Wait 15 min (source: annex).", "Wait 15 min."),
        ("Ждать 15 мин (источник: приложение) [1].", "Ждать 15 мин."),
        ("Wait 15 min [1, 2][^3].", "Wait 15 min."),
        ("<b>Wait</b> 15 min<br/><!-- x -->", "Wait 15 min"),
        ("10<sup>5</sup> cells, H<sub>2</sub>O", "10⁵ cells, H 2 O"),
        ("[Wait](https://evil.example/a?b) 15 min", "Wait 15 min"),
        ("Wait\u200b 15\u202e min\x07\nnow", "Wait 15 min now"),
        ("<script>alert(1)</script>", ""),
        ("[0f1e2d3c4b5a69788796]", ""),
        ("...", ""),
    ],
)
def test_marks_and_markup_are_taken_out(text: str, shown: str) -> None:
    assert shown_text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "a < b and c > d",
        "p<0.05 at [53 FR 1567]",
        "at 1.5 T [about 64 MHz]",
        "In the last [decade] of 1990",
        "21 CFR 1020.32(b)(4)",
        "Предел (см. приложение) 20 мЗв",
        "T12 (or L1)",
        "5–10 mSv, $300,000, 0.5 %",
        "эффективная доза: 13,5 мЗв",
        "<90 % saturation",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert shown_text(text) == text


@given(st.text())
def test_shown_text_is_settled(text: str) -> None:
    shown = shown_text(text)
    shown.encode()
    assert shown == shown.strip()


def test_addresses_must_stand_in_a_quotation() -> None:
    text = "Forms are at https://rules.example.org/forms, or write to admin@evil.example."
    assert foreign_addresses(text, ["see https://rules.example.org/forms"]) == 1
    assert foreign_addresses("Visit ｗｗｗ.evil.example/x", []) == 1
    assert foreign_addresses("i.e. 5.5 mSv, e.g. Fig. 3.de-identified", []) == 0


@pytest.mark.parametrize(
    ("text", "question", "other"),
    [
        ("The limit for workers is 20 mSv.", "Каков предел дозы?", True),
        ("Предел для персонала 20 мЗв в год.", "What is the limit?", True),
        ("Предел для персонала 20 мЗв в год.", "Каков предел дозы?", False),
        ("Gadovane 0.1 mmol/kg", "Сколько вводят?", False),
        ("Вводят Gadovane, Iomexol или Ultravist Forte Plus", "Сколько вводят?", False),
        ("МРТ, КТ, УЗИ", "Which modalities?", False),
        ("The limit for workers is 20 mSv.", "", False),
    ],
)
def test_the_script_tells_the_language(text: str, question: str, other: bool) -> None:
    assert in_other_script(text, question) is other


def test_a_composed_quotation_is_known_by_its_words() -> None:
    sources = "Limits\n\nThe limit for **workers** is 20 mSv."
    assert is_composed_of("Limits: The limit for workers is 20 mSv.", sources)
    assert not is_composed_of("Staff may receive 20 mSv annually.", sources)
