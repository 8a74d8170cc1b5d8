"""The passage says everything of a variant, and gives it back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, settings

from radref.appropriateness.model import Criteria, Procedure, RadiationLevel, Variant
from radref.appropriateness.passage import parse, render
from tests.appropriateness.variant_texts import a_variant, variants

PASSAGE = """\
# Acute knee trauma, inability to bear weight. Initial imaging.

- Form: appropriateness-kb/2
- Variant: knee-ottawa
- Topic: Knee trauma (knee)
- Population: adult
- Urgency: urgent
- All of: knee trauma
- Any of: unable to bear weight
- None of: child
- Assumed unless stated: adult
- Keywords: Ottawa rule; effusion
- Knowledge base: 2026.1-synthetic
- Synthetic: invented for testing, not clinical guidance

Why: A fracture is looked for first.

## Procedures

| Procedure | Rating | Category | Radiation | Comment | Id |
|---|---|---|---|---|---|
| Radiography knee | 9 | usually appropriate | low | First study. | xr-knee |
| MRI knee without IV contrast | 5 | may be appropriate | none |  | mri-knee-wo |"""


def test_passage_is_written_for_people() -> None:
    assert render(a_variant()) == PASSAGE
    assert parse(PASSAGE) == a_variant()


AWKWARD = "- a\\|b\\\\|c; d\\; **e** `f` # \\"


@settings(max_examples=150, deadline=None)
@given(variants)
@example(a_variant(narrative="", synthetic=False, keywords=()))
@example(
    a_variant(
        title=AWKWARD,
        topic_title="a (b) (c)",
        criteria=Criteria(all=(AWKWARD, "\\", "b: c"), assume=(";", "\\;")),
        keywords=(AWKWARD, ";;", "\\\\"),
        narrative="# Why: | a |",
        procedures=(
            Procedure("a", AWKWARD, 1, RadiationLevel.HIGH, "|"),
            Procedure("b", "\\", 9, RadiationLevel.NONE),
        ),
    )
)
def test_round_trip(variant: Variant) -> None:
    assert parse(render(variant)) == variant


@given(variants)
@settings(max_examples=50, deadline=None)
def test_names_without_a_bar_stand_word_for_word(variant: Variant) -> None:
    text = render(variant)
    for procedure in variant.procedures:
        if "|" not in procedure.name and not procedure.name.endswith("\\"):
            assert procedure.name in text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- Form: appropriateness-kb/2", "- Form: appropriateness-kb/3"),
        ("- Urgency: urgent", "- Urgency: soon"),
        ("- Urgency: urgent\n", ""),
        ("- Urgency: urgent", "- Urgency: urgent\n- Urgency: urgent"),
        ("(knee)", ""),
        ("| 9 |", "| 10 |"),
        ("| 9 | usually appropriate", "| 2 | usually appropriate"),
        ("| low |", "| lowish |"),
        (" | xr-knee |", " |"),
        ("| Comment | Id |", "| Id | Comment |"),
        ("## Procedures\n\n", ""),
        ("# Acute", "Acute"),
        ("Why: ", ""),
        ("- Keywords: Ottawa rule; effusion", "- Keywords: Ottawa rule;effusion"),
        ("- Keywords: Ottawa rule; effusion", "- Keywords: "),
        ("not clinical guidance", "clinical guidance"),
        ("knee trauma\n", "knee trauma \n"),
        ("- None of: child", "- None of: knee trauma"),
        ("- All of: knee trauma\n", "- Colour: blue\n- All of: knee trauma\n"),
    ],
)
def test_anything_else_is_refused(before: str, after: str) -> None:
    assert before in PASSAGE
    with pytest.raises(ValueError, match=r"This (is not the|variant has no) passage"):
        parse(PASSAGE.replace(before, after, 1))


@pytest.mark.parametrize("text", ["", "\n\n\n\n\n\n", PASSAGE + "\n", PASSAGE[10:], "# Title\n\nSome text."])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="passage"):
        parse(text)


def test_a_variant_against_the_rules_has_no_passage() -> None:
    with pytest.raises(ValueError, match="title holds the invisible character"):
        render(replace(a_variant(), title="a\nb"))
