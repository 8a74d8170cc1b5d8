"""What changed between two versions, section by section."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest_svc.passage_diff import MAX_COMPARED, changed_parts
from ingest_svc.queries import diff_versions
from ingest_svc.section_diff import CUT, MAX_SECTION, SectionChange, diff_sections
from radref.errors import InvalidInput, NotFound, PreconditionFailed
from tests.ingest.curation.desk import Desk, blocks_of

LONG = "Доза для персонала не превышает двадцати миллизивертов в год в среднем за пять лет."
OTHER = "Lead aprons are checked for cracks once a year, by fluoroscopy or by a radiograph of the whole."


def diff(before: str, after: str) -> list[SectionChange]:
    return diff_sections(blocks_of(before), blocks_of(after))


def paths(changes: list[SectionChange]) -> list[str]:
    return [" > ".join(change.path) for change in changes]


def test_only_changed_sections_are_told_with_both_texts():
    before = "# Law\n\nIntro.\n\n## Dose\n\n20 mSv a year.\n\n## Aprons\n\nOnce a year."
    after = "# Law\n\nIntro.\n\n## Dose\n\n50 mSv a year.\n\n## Aprons\n\nOnce  a\nyear."
    assert diff(before, after) == [
        SectionChange(("Law", "Dose"), "## Dose\n\n20 mSv a year.", "## Dose\n\n50 mSv a year.")
    ]


def test_new_and_gone_sections_stand_where_they_stood():
    before = "# A\n\nOne text.\n\n# B\n\nTwo text.\n\n# C\n\nThree text."
    after = "# A\n\nOne text.\n\n# C\n\nThree text.\n\n# D\n\nFour text."
    changes = diff(before, after)
    assert paths(changes) == ["B", "D"]
    assert [(bool(change.before), bool(change.after)) for change in changes] == [(True, False), (False, True)]


def test_a_renamed_section_is_one_change():
    (change,) = diff(f"# 1. Dose\n\n{LONG}", f"# 2. Dose limits\n\n{LONG}")
    assert change == SectionChange(("2. Dose limits",), f"# 1. Dose\n\n{LONG}", f"# 2. Dose limits\n\n{LONG}")


def test_renumbering_is_told_as_such():
    changes = diff(
        f"# Annex 1\n\n{LONG}\n\n# Annex 2\n\n{OTHER}",
        f"# Annex 1\n\nNew.\n\n# Annex 2\n\n{LONG}\n\n# Annex 3\n\n{OTHER}",
    )
    assert paths(changes) == ["Annex 1", "Annex 2", "Annex 3"]
    assert changes[0].before == ""
    assert changes[1].before.startswith("# Annex 1")


def test_short_bodies_do_not_tell_sections_apart():
    changes = diff("# A\n\nNone.\n\n# B\n\nFever.", "# A\n\nPregnancy.\n\n# B\n\nNone.")
    assert [(c.before, c.after) for c in changes] == [
        ("# A\n\nNone.", "# A\n\nPregnancy."),
        ("# B\n\nFever.", "# B\n\nNone."),
    ]


def test_a_section_under_another_heading_has_moved():
    before = "# Indications\n\nMany.\n\n# Contraindications\n\nFew.\n\n## Pacemaker\n\nAsk first."
    after = "# Indications\n\nMany.\n\n## Pacemaker\n\nAsk first.\n\n# Contraindications\n\nFew."
    (change,) = diff(before, after)
    assert change.path == ("Indications", "Pacemaker")
    assert change.before == change.after == "## Pacemaker\n\nAsk first."


def test_a_heading_that_was_renamed_changes_nothing_below_it():
    before = f"# Chapter 1\n\n{LONG}\n\n## Scope\n\nAll.\n\n### Deep\n\nMore."
    after = f"# Chapter I\n\n{LONG}\n\n## Scope\n\nAll.\n\n### Deep\n\nMore."
    assert paths(diff(before, after)) == ["Chapter I"]
    # Also where nothing but sections stands below it.
    assert paths(diff(before.replace(f"{LONG}\n\n", ""), after.replace(f"{LONG}\n\n", ""))) == ["Chapter I"]


def test_sections_that_only_change_places_are_unchanged():
    assert diff("# A\n\nOne.\n\n# B\n\nTwo.", "# B\n\nTwo.\n\n# A\n\nOne.") == []


def test_a_long_section_is_cut_down_to_what_changed():
    paragraphs = [f"Paragraph {number} of the text. " + "word " * 20 for number in range(900)]
    changed = [*paragraphs]
    changed[450] = "Something else."
    (change,) = diff("\n\n".join(paragraphs), "\n\n".join(changed))
    assert change.after == "\n\n".join([CUT, paragraphs[449], "Something else.", paragraphs[451], CUT])
    assert "Paragraph 450 " in change.before


@pytest.mark.parametrize("count", [10, MAX_COMPARED + 100])
def test_results_stay_within_their_limit(count: int):
    before = [f"a{number} " * 50 for number in range(count)]
    after = [f"b{number} " * 50 for number in range(count)]
    for text in changed_parts(before, after, limit=1000, cut=CUT):
        assert len(text) <= 1000
        assert text.endswith(CUT)


TEXTS = st.lists(st.sampled_from(["# A", "# B", "## A", "## C", "One.", "Two.", LONG, OTHER]), max_size=8)


@settings(max_examples=100, deadline=None)
@given(TEXTS, TEXTS)
def test_nothing_gets_lost_and_nothing_is_told_of_equal_texts(before: list[str], after: list[str]):
    old, new = blocks_of("\n\n".join(before)), blocks_of("\n\n".join(after))
    assert diff_sections(old, old) == []
    changes = diff_sections(old, new)
    assert all(change.before or change.after for change in changes)
    assert all(max(len(change.before), len(change.after)) <= MAX_SECTION for change in changes)
    told_old = "\n".join(change.before for change in changes)
    told_new = "\n".join(change.after for change in changes)
    for text in set(before) - set(after):
        assert text in told_old
    for text in set(after) - set(before):
        assert text in told_new


async def test_versions_are_compared(desk: Desk):
    await desk.live("one", "law")
    await desk.replace("law", "two")
    with pytest.raises(PreconditionFailed, match="no text to compare"):
        await diff_versions(desk.database, "law", 1, 2)
    await desk.parsed("law", 2, "# A\n\nOther text.")
    assert await diff_versions(desk.database, "law", 1, 2) == [
        SectionChange(("A",), "# A\n\nText.", "# A\n\nOther text.")
    ]
    with pytest.raises(NotFound):
        await diff_versions(desk.database, "law", 1, 3)
    with pytest.raises(InvalidInput):
        await diff_versions(desk.database, "law", 0, 2)
