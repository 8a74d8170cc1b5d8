import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_svc.cleaning.boilerplate import drop_boilerplate
from ingest_svc.cleaning.clean import clean
from ingest_svc.cleaning.contents import find_regions, has_leader, title_key
from ingest_svc.cleaning.contents_blocks import drop_contents
from ingest_svc.cleaning.hyphens import drop_soft_hyphens, join_lines, vocabulary
from ingest_svc.cleaning.page_blocks import drop_page_marks
from ingest_svc.cleaning.page_furniture import page_number, page_number_lines, running_lines
from ingest_svc.cleaning.spaces import one_line, tidy
from ingest_svc.cleaning.texts import tidy_blocks
from ingest_svc.document import Block, BlockKind, ParsedDocument, ParseReport, render


def para(text: str) -> Block:
    return Block(BlockKind.PARAGRAPH, text)


def head(text: str, level: int = 1) -> Block:
    return Block(BlockKind.HEADING, f"{'#' * level} {text}", level)


@pytest.mark.parametrize(
    ("first", "second", "known", "joined"),
    [
        ("radio-", "logy today", "", "radiology today"),
        ("beam-", "limiting device", "the beam is limiting", "beam-limiting device"),
        ("beam-", "limiting device", "a beam-limiting thing", "beam-limiting device"),
        ("co-", "operation", "cooperation", "cooperation"),
        ("рентге\u00ad", "нология", "", "рентгенология"),
        ("20852-", "1740", "", "20852-1740"),
        ("20852\u00ad", "1740", "", "20852-1740"),
        ("X-", "ray", "", "X-ray"),
        ("non-", "FDA", "", "non-FDA"),
        ("with-", "out contrast", "with and out", "without contrast"),
        ("there-", "fore", "there fore", "therefore"),
        ("dose-", "dependent", "", "dose-dependent"),
        ("in-", "dependent", "", "independent"),
        ("inde-", "pendent", "", "independent"),
        ("image-", "guided biopsy", "", "image-guided biopsy"),
        ("low-", "contrast", "", "low-contrast"),
        ("non-", "contrast", "", "non-contrast"),
        ("non-", "linear", "a nonlinear one", "nonlinear"),
        ("over-", "exposure", "over exposure", "overexposure"),
        ("pre-", "market", "pre-amendments market", "pre-market"),
        ("re-", "engineering", "an engineering plan", "re-engineering"),
        ("co-", "operation", "", "cooperation"),
        ("CT-", "guided", "", "CT-guided"),
        ("RADI-", "OLOGY", "radiology", "RADIOLOGY"),
        ("RADI-", "OLOGY", "", "RADI-OLOGY"),
        ("ct-", "angiography", "", "ct-angiography"),
        ("кт-", "ангиография", "", "кт-ангиография"),
        ("КТ-", "ангиография", "", "КТ-ангиография"),
        ("узи-", "контроль", "", "узи-контроль"),
        ("Т1-", "взвешенные", "", "Т1-взвешенные"),
        ("магнитно-", "резонансная", "", "магнитно-резонансная"),
        ("медико-", "санитарной", "", "медико-санитарной"),
        ("рентгено-", "логический", "", "рентгенологический"),
        ("рентгено-", "контрастный", "", "рентгеноконтрастный"),
        ("термино-", "логический", "", "терминологический"),
        ("исследо-", "вание", "", "исследование"),
        ("up-", "to-date", "", "up-to-date"),
        ("up-to-", "date", "", "up-to-date"),
        ("tube-", "and generator", "", "tube- and generator"),
        ("врачебно-", "и фельдшерско-", "", "врачебно- и фельдшерско-"),
        ("a range of 5 -", "10 mSv", "", "a range of 5 - 10 mSv"),
        ("2018–", "23", "", "2018–23"),
        ("https://", "www.example.org", "", "https://www.example.org"),
        ("plain", "words", "", "plain words"),
        ("", "words", "", "words"),
    ],
)
def test_hyphens_at_line_ends(first: str, second: str, known: str, joined: str) -> None:
    assert join_lines(first, second, vocabulary([known])) == joined


def test_soft_hyphens_between_digits_stay_hyphens() -> None:
    assert drop_soft_hyphens("radio\u00adlogy 700\u00ad1050") == "radiology 700-1050"


@given(st.text(st.sampled_from("абвxyz059.,%-± \t\u00a0\u200b"), max_size=80))
def test_tidy_changes_only_white_space(text: str) -> None:
    cleaned = tidy(text)
    assert "".join(cleaned.split()) == "".join(text.replace("\u200b", "").split())
    assert tidy(cleaned) == cleaned
    assert "  " not in cleaned


def test_decomposed_letters_are_composed() -> None:
    assert one_line("и\u0306од  е\u0308лка\n x") == "йод ёлка x"


@pytest.mark.parametrize(
    ("line", "number"), [("12", 12), ("- 12 -", 12), ("Page 3 of 9", 3), ("стр. 7", 7), ("3/9", 3)]
)
def test_page_numbers(line: str, number: int) -> None:
    assert page_number(line) == number


@pytest.mark.parametrize("line", ["12 mSv", "Page three", "1.5", "12)", "", "Table 4", "10 - 12"])
def test_no_page_numbers(line: str) -> None:
    assert page_number(line) is None


def pages(count: int, header: str = "Running header of the act") -> list[str]:
    lines: list[str] = []
    for number in range(1, count + 1):
        lines += [header, *[f"text line {number} {at}" for at in range(12)], str(number), ""]
    return lines


def test_page_numbering_and_running_header_are_found() -> None:
    lines = pages(6)
    numbers = page_number_lines(lines)
    assert {lines[at] for at in numbers} == {str(number) for number in range(1, 7)}
    assert {lines[at] for at in running_lines(lines, numbers)} == {"Running header of the act"}


def test_columns_of_numbers_and_answers_are_no_page_furniture() -> None:
    assert not page_number_lines([str(number) for number in range(1, 40)])
    assert not page_number_lines(["7", *["word"] * 40, "3"])
    lines = ["Not applicable here", *["text"] * 12] * 5
    assert not running_lines(lines, frozenset())


def test_contents_regions() -> None:
    lines = [
        "Table of Contents",
        "Scope ....... 3",
        "Dose limits ....... 4",
        "Records ....... 9",
        "",
        "Prose starts here, long enough.",
    ]
    (region,) = find_regions(lines)
    assert (region.start, region.end) == (0, 4)
    assert title_key("2. Dose Limits") in region.titles
    assert not find_regions(["Contents", "Iodine 300", "Water 20", "Salt 5", "Sugar 1"])
    assert has_leader("A . . . . . . 4")
    assert not has_leader("and so on... 4")


def test_contents_blocks_go_and_sections_stay() -> None:
    toc = para("Scope ..... 3\nLimits ..... 4\nRecords ..... 9")
    body = (head("Scope"), para("Text one."), head("Limits"), para("Text two."))
    assert drop_contents((head("Contents"), toc, *body)) == body
    listed = Block(BlockKind.LIST, "- Scope\n- Limits")
    assert drop_contents((para("Содержание"), listed, *body)) == body
    assert drop_contents((listed, *body)) == (listed, *body)
    field = para("Name ..........")
    assert drop_contents((field,)) == (field,)


def test_bare_heading_runs_that_come_again_are_contents() -> None:
    names = ["§1 Scope", "§2 Limits", "§3 Records", "§4 Reports"]
    body = tuple(block for name in names for block in (head(name, 2), para(f"Text of {name}.")))
    assert drop_contents((*[head(name, 2) for name in names], *body)) == body
    # A run of headings that never comes again is the document's own structure.
    alone = (head("Part I"), head("Chapter 1", 2), head("Article 1", 3), head("General", 4), para("Text."))
    assert drop_contents(alone) == alone


def test_page_marks() -> None:
    header = para("Contains Nonbinding Recommendations")
    text = tuple(para(f"Sentence number {at}.") for at in range(8))
    mixed = tuple(block for pair in zip(text, [header] * 8, strict=True) for block in pair)
    assert drop_page_marks(mixed) == text
    kept = (para("Not applicable."), *[para("Yes")] * 9, para("12"), *[para("5 mSv a year for all")] * 9)
    assert drop_page_marks(kept) == kept
    assert drop_page_marks((para("Page 3 of 12"), para("_____"), para("стр. 4"))) == ()


def test_boilerplate_only_as_whole_paragraph() -> None:
    gone = (para("Документ предоставлен КонсультантПлюс"), para("This page intentionally left blank"))
    kept = (
        para("The page is intentionally left blank where no dose is measured."),
        head("Copyright 2020 X all rights reserved"),
    )
    assert drop_boilerplate((*gone, *kept)) == kept


def test_tables_and_code_keep_their_spaces() -> None:
    table = Block(BlockKind.TABLE, "| a  b | 5 ±  1 |\n| --- | --- |")
    code = Block(BlockKind.CODE, "```\na  b\n```")
    nested = Block(BlockKind.LIST, "- a  b\n  - c\u00a0 d")
    assert tidy_blocks((table, code, nested, para(" "))) == (
        table,
        code,
        Block(BlockKind.LIST, "- a b\n  - c d"),
    )


def test_clean_counts_what_it_removed() -> None:
    blocks = (head("Contents"), para("Scope ..... 3\nLimits ..... 4"), head("Scope"), para("Dose  5 mSv."))
    before = render(blocks)[0]
    document = ParsedDocument(blocks, "T", ParseReport(headings=2, removed_characters=7))
    cleaned = clean(document)
    after = render(cleaned.blocks)[0]
    assert after == "# Scope\n\nDose 5 mSv."
    assert cleaned.report.headings == 1
    assert cleaned.report.characters == len(after)
    assert cleaned.report.removed_characters == 7 + len(before) - len(after)
    only = ParsedDocument((para("Page 1 of 2"),))
    assert clean(only) is only
