import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest_svc.document import BlockKind, render
from ingest_svc.parsing.heading_marks import HeadingLevels, heading_mark, roman_value
from ingest_svc.parsing.language import detect_language
from ingest_svc.parsing.markdown import parse_markdown
from ingest_svc.parsing.plain_text import parse_text

GUIDANCE = """Contains Recommendations

Table of Contents
I.

Introduction ............................. 1

II.

Scope .................................... 2

A. Handheld units ........................ 2

Contains Recommendations

I.

Introduction

This guidance describes the dose limits that apply to the staff of radio-
logy departments and the way in which they are measured. It does not
apply to patients. The effective dose is 20 mSv a year.

II. Scope
The document covers X-ray tubes of all kinds, including those that are
mounted on mobile equipment and are used
1

Contains Recommendations
outside of the radiology department, for as long as they are kept in one
of the rooms listed below.

A. Handheld units
Handheld units are covered too when their weight is below the limit that
is named in Section 5.1 of the standard that has the same title, and
Section 5.2 below provides more on them:

•  first kind of unit
•  second kind of unit

2

Contains Recommendations

More text follows here, so that the last page has a line that is as long
as the others.

3

Contains Recommendations

The last page.

4
"""


def headings(text: str) -> list[str]:
    return [block.text for block in parse_text(text).blocks if block.kind is BlockKind.HEADING]


def test_guidance_like_text() -> None:
    parsed = parse_text(GUIDANCE)
    text, _ = render(parsed.blocks)
    assert headings(GUIDANCE) == ["# I. Introduction", "# II. Scope", "## A. Handheld units"]
    assert "staff of radiology departments and the way in which they are measured." in text
    # The sentence goes on over the page break; page number and running header are gone.
    assert "are used outside of the radiology department" in text
    assert parsed.removed_characters > 0
    assert "- first kind of unit\n- second kind of unit" in text
    assert "same title, and Section 5.2 below provides" in text


@pytest.mark.parametrize(
    ("line", "style"),
    [
        ("Статья 13. Соблюдение врачебной тайны", "статья"),
        ("Глава 4. ПРАВА", "глава"),
        ("Раздел I", "раздел"),
        ("Приложение N 2", "приложение"),
        ("§ 892.1 Scope", "§"),
        ("5.1.2 Overview", "decimal3"),
        ("IV. Request for Reconsideration", "roman"),
        ("Kapitel 3 Strahlenschutz", "kapitel"),
        ("Annex B", "annex"),
        ("2. Was ist zu tun?", "arabic"),
    ],
)
def test_numbered_headings(line: str, style: str) -> None:
    mark = heading_mark(line)
    assert mark is not None
    assert mark.style == style


@pytest.mark.parametrize(
    "line",
    [
        "part 3 of this chapter",
        "статьи 13 и 20",
        "10 mSv in a year",
        "a) первое;",
        "IIII. Wrong",
        "3.2 mSv",
        "Статья 5;",
        "",
    ],
)
def test_lines_that_are_no_headings(line: str) -> None:
    assert heading_mark(line) is None


def test_levels_follow_first_appearance() -> None:
    levels = HeadingLevels()
    lines = [
        "Раздел I. Общее",
        "Глава 1. Первая",
        "Статья 1. А",
        "Статья 2. Б",
        "Глава 2. Вторая",
        "Статья 3. В",
    ]
    lines += ["Приложение N 1", "I. Порядок"]
    marks = [heading_mark(line) for line in lines]
    assert [levels.level(mark) for mark in marks if mark] == [1, 2, 3, 3, 2, 3, 1, 2]


def test_letter_after_h_is_no_roman_numeral() -> None:
    levels = HeadingLevels()
    lines = ["I. Purpose", "II. Scope", *[f"{letter}. Part" for letter in "ABCDEFGHI"], "III. Background"]
    found = [levels.level(mark) for mark in map(heading_mark, lines) if mark]
    assert found == [1, 1] + [2] * 9 + [1]


@given(st.integers(1, 300))
def test_roman_values(number: int) -> None:
    signs = [
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ]
    left, text = number, ""
    for value, sign in signs:
        count, left = divmod(left, value)
        text += sign * count
    assert roman_value(text) == number


def test_unwrapped_text_keeps_its_paragraphs() -> None:
    text = "Первый абзац, " + "слово " * 60 + "конец.\nВторой абзац, " + "слово " * 60 + "конец."
    assert len(parse_text(text).blocks) == 2


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from("abcАбв .,;:-–\n\f|#•123()IVX\u00ad\u00a0"), max_size=300))
def test_no_letter_or_digit_is_invented(text: str) -> None:
    rendered, _ = render(parse_text(text).blocks)
    kept = sorted(char for char in rendered if char.isalnum())
    given_chars = sorted(char for char in text if char.isalnum())
    for char in set(kept):
        assert kept.count(char) <= given_chars.count(char)


def test_markdown_structure() -> None:
    source = (
        "---\ntitle: Dose limits\n---\n# Limits <!-- page 3 -->\n\nHard\nwrapped *text* here.\n\n"
        "1. one\n   - inner\n   - second\n2. two\n\n"
        "| a | b |\n|---|:-:|\n| 1 \\| 2 | 3 |\n\n> quoted\n> lines\n\n"
        "```\ncode  x\n```\n\nSub\n---\n\n    indented prose\n\n"
        "<table><tr><td>x</td><td>y</td></tr></table>\n"
    )
    draft = parse_markdown(source)
    assert draft.title == "Dose limits"
    assert [(block.kind.value, block.text) for block in draft.blocks] == [
        ("heading", "# Limits"),
        ("paragraph", "Hard wrapped *text* here."),
        ("list", "1. one\n  - inner\n  - second\n2. two"),
        ("table", "| a | b |\n| --- | --- |\n| 1 \\| 2 | 3 |"),
        ("quote", "> quoted lines"),
        ("code", "```\ncode  x\n```"),
        ("heading", "## Sub"),
        ("paragraph", "indented prose"),
        ("table", "| x | y |\n| --- | --- |"),
    ]


def test_broken_front_matter_is_kept_as_text() -> None:
    draft = parse_markdown("---\na: [1\n---\n# Title\n\nText")
    assert draft.warnings
    assert "a: [1" in render(draft.blocks)[0]
    assert parse_markdown("---\n\nText after a ruler\n\n---\n\nMore").title == ""


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        (
            "The dose limit for the staff is 20 mSv and it must not be exceeded by any of "
            "the workers in the area, that is the law and it shall be kept.",
            "en",
        ),
        ("Сведения о факте обращения гражданина за оказанием медицинской помощи составляют тайну.", "ru"),
        (
            "Die Dosis ist von der Größe des Patienten abhängig und wird mit der Fläche und den Werten auf "
            "ein Maß geprüft, das die Norm ist, oder von Hand.",
            "de",
        ),
        ("12.5 mSv", ""),
        ("漢字" * 100, ""),
    ],
)
def test_language(text: str, tag: str) -> None:
    assert detect_language(text) == tag
