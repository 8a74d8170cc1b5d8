from __future__ import annotations

from dataclasses import replace

from ingest_svc.chunking.identity import CHUNKING_VERSION, citation_id
from ingest_svc.chunking.model import ChunkLimits, Parent
from ingest_svc.chunking.parents import parent_size, parent_tokens, split_parents
from ingest_svc.document import Block, BlockKind
from tests.ingest.chunking.chunking_documents import (
    bullets,
    heading,
    offsets_of,
    paragraph,
    rendered,
    table,
    words,
)

LIMITS = ChunkLimits(parent_tokens=100)


def parents_of(*blocks: Block, limits: ChunkLimits = LIMITS) -> list[Parent]:
    text, placed, tokens = rendered(*blocks)
    parents = split_parents(text, placed, tokens, limits, document_id="doc", version=3)
    for parent in parents:
        assert (
            parent_size(parent, tokens) == len(parent_tokens(parent, tokens)) == len(offsets_of(parent.text))
        )
    return parents


def test_a_document_that_fits_is_one_parent() -> None:
    blocks = (heading(1, "A"), paragraph("x"), heading(1, "B"), heading(2, "C"), paragraph("y"))
    (parent,) = parents_of(*blocks)
    assert parent.text == "# A\n\nx\n\n# B\n\n## C\n\ny"
    assert parent.source == (0, len(parent.text))
    assert parent.section_path == ()
    assert parent.citation_id == citation_id("doc", 3, CHUNKING_VERSION, 0, parent.text)


def test_no_text_no_parents() -> None:
    assert parents_of() == []
    assert parents_of(paragraph("  \n ")) == []


def test_sections_that_fit_are_not_cut_and_small_neighbours_are_packed() -> None:
    sections = [b for name in "ABCDE" for b in (heading(2, name), paragraph(words(20)), paragraph(words(15)))]
    parents = parents_of(heading(1, "Title"), *sections)
    assert [p.text.count("## ") for p in parents] in ([2, 2, 1], [2, 1, 2], [1, 2, 2])
    assert all(p.text.startswith(("# Title", "## ")) for p in parents)
    assert all(p.section_path[0] == "Title" for p in parents)


def test_without_packing_every_section_is_its_own_parent() -> None:
    sections = [b for name in "ABCDE" for b in (heading(2, name), paragraph(words(25)))]
    limits = replace(LIMITS, pack_sections=False)
    parents = parents_of(heading(1, "Title"), *sections, limits=limits)
    assert [p.section_path for p in parents] == [("Title", name) for name in "ABCDE"]
    assert parents[0].text.startswith("# Title\n\n## A\n\n")


def test_pieces_of_different_top_sections_stay_apart() -> None:
    def chapter(name: str) -> list[Block]:
        return [
            heading(1, name),
            *(b for n in "123" for b in (heading(2, f"{name}.{n}"), paragraph(words(38)))),
        ]

    parents = parents_of(*chapter("A"), *chapter("B"))
    assert [p.section_path[:1] for p in parents] == [("A",), ("A",), ("B",), ("B",)]


def test_whole_small_top_sections_without_subsections_are_packed() -> None:
    terms = [b for n in range(12) for b in (heading(1, f"Term {n}"), paragraph(words(20)))]
    parents = parents_of(*terms)
    assert [p.section_path for p in parents] == [()] * 3
    assert all(p.text.count("# Term") == 4 for p in parents)


def test_text_before_the_first_heading_goes_with_what_follows() -> None:
    chapter = [b for n in "123" for b in (heading(2, n), paragraph(words(40)))]
    parents = parents_of(paragraph("Preface."), heading(1, "A"), *chapter, heading(1, "B"), *chapter)
    assert parents[0].text.startswith("Preface.\n\n# A\n\n## 1\n\n")


def test_a_heading_stays_with_its_content() -> None:
    # 96 + 3 tokens of headings leave no room for the next section's paragraph in the first parent.
    parents = parents_of(
        heading(1, "T"),
        paragraph(words(90)),
        heading(2, "Bare"),
        heading(2, "A"),
        heading(3, "B"),
        paragraph(words(96)),
        heading(2, "C"),
        paragraph(words(50)),
    )
    assert [p.text.split("\n\n")[-1].startswith("#") for p in parents] == [False] * len(parents)
    assert next(p for p in parents if "# Bare" in p.text).text.startswith("## Bare\n\n## A\n\n### B\n\nword")


def test_long_prose_is_cut_between_sentences() -> None:
    sentence = "Word " + words(16) + "."
    parents = parents_of(heading(1, "T"), paragraph(" ".join([sentence] * 20)))
    assert len(parents) == 4
    assert all(p.text.endswith("word.") and p.section_path == ("T",) for p in parents)
    assert all(p.text.startswith("Word") for p in parents[1:])


def test_a_line_that_announces_a_list_stays_with_it() -> None:
    parents = parents_of(paragraph(words(60)), paragraph("The duties are:"), bullets(*["a b c"] * 10))
    assert [p.text.startswith(("word", "The duties are:")) for p in parents] == [True, True]


def test_lists_are_cut_between_items() -> None:
    parents = parents_of(bullets(*[words(14)] * 20))
    assert len(parents) > 2
    assert all(p.text.startswith("- word") and p.text.endswith("word") for p in parents)


def test_tables_are_cut_between_rows_and_repeat_their_header() -> None:
    rows = [[f"Organ {n}", words(6)] for n in range(30)]
    parents = parents_of(heading(1, "Limits"), table(["Organ", "Dose"], *rows), paragraph("After."))
    header = "| Organ | Dose |\n| --- | --- |\n"
    assert parents[0].text.startswith(f"# Limits\n\n{header}| Organ 0 |")
    assert all(p.text.startswith(f"{header}| Organ ") for p in parents[1:])
    assert parents[-1].text.endswith("|\n\nAfter.")
    assert "".join(p.text.replace(header, "") for p in parents).count("| Organ ") == 30
    assert {p.section_path for p in parents} == {("Limits",)}
    assert all(p.repeated_header is not None for p in parents[1:])


def test_a_row_over_the_limit_is_kept_whole_with_its_headings() -> None:
    text, placed, tokens = rendered(
        heading(1, "Limits"),
        table(["A", "B"], ["1", "2"], ["3", words(150)], ["4", "5"]),
        paragraph("After."),
    )
    parents = split_parents(text, placed, tokens, LIMITS, document_id="d", version=1)
    sizes = [parent_size(p, tokens) for p in parents]
    assert [size > 100 for size in sizes] == [False, True, False]
    assert parents[1].text.count("\n") == 2
    assert parents[2].text == "| A | B |\n| --- | --- |\n| 4 | 5 |\n\nAfter."


def test_a_header_of_more_than_half_a_parent_is_not_repeated() -> None:
    parents = parents_of(table(["A", words(60)], *[["1", words(20)]] * 8))
    assert [p.repeated_header for p in parents] == [None] * len(parents)
    assert sum(p.text.count("---") for p in parents) == 2


def test_a_paragraph_misread_as_heading_is_cut_like_prose() -> None:
    parents = parents_of(heading(1, words(250)), paragraph("x"))
    assert len(parents) == 3
    assert parents[0].text.startswith("# word")


def test_text_without_blanks_is_cut_anywhere() -> None:
    parents = parents_of(paragraph("y" * 2000))
    assert "".join(p.text for p in parents) == "y" * 2000


def test_pages_span_the_blocks() -> None:
    blocks = [paragraph(words(60), pages=(n, n + 1)) for n in (1, 2, 5)]
    assert [p.pages for p in parents_of(*blocks)] == [(1, 2), (2, 3), (5, 6)]
    assert parents_of(paragraph("x", pages=(4, 4)), paragraph("y"), paragraph("z", pages=(6, 7)))[
        0
    ].pages == (4, 7)
    assert parents_of(paragraph("x"))[0].pages is None


def test_segments_stand_in_the_parents_text() -> None:
    rows = [[f"Organ {n}", words(6)] for n in range(12)]
    for parent in parents_of(paragraph("Before"), table(["Organ", "Dose"], *rows), paragraph("After")):
        for segment in parent.segments:
            own = parent.text[segment.start : segment.end]
            if segment.kind is BlockKind.TABLE:
                assert segment.table_header is not None
                assert parent.text[slice(*segment.table_header)] == "| Organ | Dose |\n| --- | --- |"
                assert own.startswith("| Organ | Dose |")
            else:
                assert own in ("Before", "After")
