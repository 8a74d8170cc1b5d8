"""Author blocks and reference lists: what goes, and what only looks like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_svc.cleaning.authors import drop_author_blocks
from ingest_svc.cleaning.references import drop_reference_lists, is_citation, is_reference_title
from ingest_svc.document import Block, BlockKind

BODY = (
    "Effective dose was estimated from the dose-length product of 1,204 examinations. The median was 5.1, "
    "the third quartile 7.4 mSv, and both fell after the protocols had been revised. "
)


def para(text: str) -> Block:
    return Block(BlockKind.PARAGRAPH, text)


def head(text: str, level: int = 1) -> Block:
    return Block(BlockKind.HEADING, f"{'#' * level} {text}", level)


def items(*lines: str) -> Block:
    return Block(BlockKind.LIST, "\n".join(lines))


PROSE = tuple(para(BODY * 2) for _ in range(4))
ARTICLES = (
    "Miller DL, Balter S, Dixon RG, et al. Quality guidelines. J Vasc Interv Radiol. 2012;23:11-18.",
    "Obuchowski, N.A., Beiden, S.V., Multireader studies. Acad. Radiol., 2004. 11(9): 980-995.",
    "Samei E, Badano A. Assessment of display performance, 2005. https://doi.org/10.1118/1.1861159",
)
RUSSIAN_ARTICLES = (
    "Иванов И.И., Петров П.П. Лучевая диагностика пневмоний // Вестник рентгенологии. 2019. № 3. С. 12-15.",
    "Морозов С. П. и др. Дозы при КТ // Радиология. 2021. Т. 5, № 3. С. 40-47.",
    "А.Б. Сидоров, Безопасность в МРТ. М.: Видар, 2018. С. 312.",
)


@pytest.mark.parametrize("title", ["References", "7. References", "VII. Literature cited", "REFERENCES:"])
def test_reference_list_goes_with_its_title(title: str) -> None:
    text = (head("Dose"), para(BODY))
    numbered = items(*(f"{at}. {entry}" for at, entry in enumerate(ARTICLES, start=1)))
    assert drop_reference_lists((*text, head(title, 2), numbered)) == text
    paragraphs = [para(f"[{at}] {entry}") for at, entry in enumerate(ARTICLES, start=1)]
    assert drop_reference_lists((*text, para(title), *paragraphs)) == text


def test_russian_reference_list_and_what_follows_it() -> None:
    text = (head("Дозы"), para(BODY))
    after = (head("Приложение А"), para("Таблица доз."))
    made = (*text, head("Список литературы"), *map(para, RUSSIAN_ARTICLES), *after)
    assert drop_reference_lists(made) == (*text, *after)


def test_text_after_a_list_keeps_the_title() -> None:
    title, rest = head("References"), para("Copies may be had from the radiation safety officer.")
    assert drop_reference_lists((title, *map(para, ARTICLES), rest)) == (title, rest)


@pytest.mark.parametrize(
    "title",
    [
        "Normative references",
        "References in text",
        "Нормативные ссылки",
        "Reference values",
        "Literature review",
    ],
)
def test_titles_that_are_no_reference_lists(title: str) -> None:
    assert not is_reference_title(title)
    blocks = (head(title), *map(para, ARTICLES))
    assert drop_reference_lists(blocks) == blocks


@pytest.mark.parametrize(
    "kept",
    [
        # Laws and standards: the reader needs to know which rules hold.
        (
            items(
                "- 21 CFR 1020.30, 2019",
                "- ISO 14971:2019",
                "- IEC 60601-1-3:2008",
                "- NCRP Report 147 (2004)",
            ),
        ),
        (para("СанПиН 2.6.1.1192-03, 2003."), para("НРБ-99/2009."), para("Приказ № 107н от 2012 г.")),
        # A dose table set as a list.
        (items("1. Chest CT 2020; 12: 5 mSv", "2. Head CT 2020; 14: 2 mSv", "3. Hip 2021; 9: 0.7 mSv"),),
        # Reference values.
        (items("- Aorta: 40 mm", "- Left atrium: 38 mm", "- Portal vein: 13 mm"),),
        # Too few to be a list.
        (para(ARTICLES[0]), para(ARTICLES[1])),
        # Prose about sources.
        (para(f"The limits follow the recommendations of 2007. {BODY}"),) * 3,
        (Block(BlockKind.TABLE, "| Study | Dose |\n| --- | --- |\n| Miller DL, et al. 2012;23:11 | 5 mSv |"),)
        * 3,
    ],
)
def test_under_a_reference_title_only_citations_go(kept: tuple[Block, ...]) -> None:
    blocks = (head("References"), *kept, head("Annex"))
    assert drop_reference_lists(blocks) == blocks


def test_citations_without_a_title_stay() -> None:
    blocks = (para(BODY), *map(para, ARTICLES))
    assert drop_reference_lists(blocks) == blocks


@pytest.mark.parametrize("entry", [*ARTICLES, *RUSSIAN_ARTICLES])
def test_citations(entry: str) -> None:
    assert is_citation(entry)


TITLE = head("Radiation dose in chest CT")


@pytest.mark.parametrize(
    "block",
    [
        ("Anna M. Smith^1,2, John Doe2*, and Peter O’Neil1",
         "1 Department of Radiology, City Hospital, Leeds",
         "2 University of York", "*Correspondence: Anna Smith, a.smith@example.org"),
        ("Иванов И.И.1, Петров П. П.2", "1 Кафедра лучевой диагностики", "2 Городская больница № 4",
         "Для корреспонденции: ivanov@example.org"),
        ("A. Smith, MD, PhD^1; K. Meyer^2", "^1 Klinik für Radiologie, Graz", "^2 Institut für Physik",
         "k.meyer@example.org"),
        ("Authors: Anna Smith, Jan van der Berg",),
        ("Авторы: А.Б. Иванов, В.Г. Петров",),
    ],
)  # fmt: skip
def test_author_block_goes(block: tuple[str, ...]) -> None:
    assert drop_author_blocks((TITLE, *map(para, block), head("Abstract", 2), *PROSE)) == (
        TITLE,
        head("Abstract", 2),
        *PROSE,
    )


@pytest.mark.parametrize(
    "block",
    [
        # Titles in capitals look like names.
        ("Bone Marrow, Lung Tissue and Thyroid Gland",),
        ("Radiation Safety Officer", "1 The hospital names an officer, the department a deputy."),
        ("New York, Los Angeles", "Department of Health"),
        # Contacts are what people ask for.
        ("On call: Anna Smith, Department of Radiology, phone 555-0199",),
        ("Anna Smith, Peter Jones", "Department of Radiology, City Hospital"),
        # Numbers that are data.
        ("Lead Apron 1, Thyroid Collar 2", "0.25 mm and 0.5 mm of lead equivalent"),
    ],
)
def test_what_looks_like_an_author_block_stays(block: tuple[str, ...]) -> None:
    blocks = (TITLE, *map(para, block), *PROSE)
    assert drop_author_blocks(blocks) == blocks


def test_authors_stay_in_the_text_and_in_lists_of_people() -> None:
    names = (
        para("Anna Smith^1, John Doe^2"),
        para("1 Department of Radiology"),
        para("2 University of York"),
    )
    late = (TITLE, PROSE[0], *names, *PROSE)
    assert drop_author_blocks(late) == late
    people = (head("Medical physicists"), *names)
    assert drop_author_blocks(people) == people


PARTS = [
    "Anna Smith",
    "Smith A.",
    "A. B.",
    ", ",
    " and ",
    "1",
    "*",
    "MD",
    "Dr",
    "!",
    "и ",
    "Петров П. П.",
    " ",
]


@given(st.lists(st.sampled_from(PARTS), max_size=40).map("".join), st.integers(0, 3))
def test_any_line_is_judged_and_only_the_head_may_change(line: str, before: int) -> None:
    blocks = (*[para("Journal")] * before, para(line), *PROSE)
    left = drop_author_blocks(blocks)
    assert left == blocks or left == (*[para("Journal")] * before, *PROSE)
