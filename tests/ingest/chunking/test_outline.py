from __future__ import annotations

import pytest

from ingest_svc.chunking.model import Segment
from ingest_svc.chunking.outline import Section, common_path, heading_title, outline
from tests.ingest.chunking.chunking_documents import heading, paragraph, rendered


def names(segment: Segment) -> list[str]:
    return [item.title for item in segment.path]


@pytest.mark.parametrize(
    ("markdown", "title"),
    [
        ("# Scope", "Scope"),
        ("### § 892.1  Scope. ##", "§ 892.1 Scope."),
        ("## **Bold** and *it*", "Bold and it"),
        ("## [Link](http://x/y) `code`", "Link code"),
        ("# C\\# \\*", "C# *"),
        ("#", ""),
        ("#hash", "#hash"),
        ("# " + "*" * 5000, "*" * 5000),
    ],
)
def test_heading_titles(markdown: str, title: str) -> None:
    assert heading_title(markdown) == title


def tree(section: Section) -> list[object]:
    own: list[object] = [names(segment)[-1] for segment in section.headings()]
    return [*own, *["." for _ in section.content], *[tree(inner) for inner in section.sections]]


def test_levels_may_be_skipped_and_bare_headings_go_with_the_next() -> None:
    text, placed, tokens = rendered(
        paragraph("before"),
        heading(1, "Part"),
        heading(1, "Authority"),
        paragraph("x"),
        heading(4, "Deep"),
        paragraph("x"),
        heading(2, "Bare"),
        heading(2, "Mid"),
        paragraph("x"),
        heading(1, "Last"),
        heading(3, "Under"),
        paragraph("x"),
        heading(3, "Bare too"),
        heading(1, "End"),
    )
    root = outline(text, placed, tokens)
    assert tree(root) == [
        ".",
        ["Part", "Authority", ".", ["Deep", "."], ["Bare", "Mid", "."]],
        ["Last", ["Under", "."]],
        ["Bare too", "End"],
    ]
    segments = list(root.segments())
    assert [text[s.start : s.end] for s in segments] == [p.block.text for p in placed]
    assert [names(s) for s in segments if s.start == text.index("Mid") - 3] == [["Authority", "Mid"]]


def test_common_path_heeds_sections_of_the_same_name() -> None:
    text, placed, tokens = rendered(
        heading(1, "A"),
        heading(2, "Notes"),
        paragraph("x"),
        heading(1, "A"),
        heading(2, "Notes"),
        paragraph("x"),
        paragraph("y"),
    )
    segments = list(outline(text, placed, tokens).segments())
    assert common_path(segments) == ()
    assert [item.title for item in common_path(segments[-2:])] == ["A", "Notes"]
    assert [item.title for item in common_path(segments[:1])] == ["A"]
