import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_svc.generators.extractive.blocks import BlockKind, parse_blocks
from inference_svc.generators.extractive.lexical import Stems, is_cyrillic
from inference_svc.generators.extractive.sentences import split_sentences
from inference_svc.generators.extractive.units import cell_spans, read_passage
from inference_svc.generators.generator import Grounding
from radref.asked import holds, names_attribute, read_question

MARKDOWN = st.text(alphabet=st.sampled_from(list("aБ5 .:|-*#()\n")), max_size=200)


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text, 0, len(text))]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two! Three?", 3),
        ("See Fig. 3 and No. 5. Then stop.", 2),
        ("Under 21 U.S.C. 360 it holds. So be it.", 2),
        ("Согласно ст. 13 и п. 5 закона. Далее иное.", 2),
        ("В 2018 г. Программа изменена.", 2),
        ("В 2018 г. 5 процентов.", 1),
        ("J. Smith wrote it. He left.", 2),
        ("The value is 0.5 mSv. (It was 5.) End.", 3),
    ],
)
def test_sentences(text: str, count: int) -> None:
    assert len(sentences(text)) == count, sentences(text)


@given(MARKDOWN)
def test_blocks_hold_every_visible_character_but_fences_once(text: str) -> None:
    blocks = parse_blocks(text, ("A",))
    covered = [place for block in blocks for place in range(block.start, block.end)]
    assert len(covered) == len(set(covered))
    outside = "".join(text[place] for place in range(len(text)) if place not in set(covered))
    assert not outside.replace("#", "").strip()


@given(MARKDOWN)
def test_units_are_ordered_ranges_of_the_text(text: str) -> None:
    read = read_passage(Grounding("c", "t", (), text, ()), 0)
    for unit in read.units:
        for start, end in (unit.span, *unit.governing()):
            assert 0 <= start < end <= len(text)
        assert text[slice(*unit.span)].strip()


def test_legal_enumerators_are_items_and_tables_keep_their_header() -> None:
    text = "Intro:\n\n(a) one;\n(b) two.\n\n2.1. three\n\n| H |x|\n|---|---|\n| 1 | 2 |"
    blocks = parse_blocks(text, ())
    kinds = [block.kind for block in blocks]
    assert kinds == [BlockKind.PARAGRAPH, *[BlockKind.ITEM] * 3, BlockKind.TABLE]
    assert blocks[1].marker == blocks[2].marker != blocks[3].marker
    assert blocks[-1].has_header
    assert [text[slice(*row)] for row in blocks[-1].rows] == ["| H |x|", "| 1 | 2 |"]


def test_cells_with_escaped_bars() -> None:
    text = r"| a \| b | | c |"
    assert [text[slice(*cell)] for cell in cell_spans(text, (0, len(text)))] == [r"a \| b", "", "c"]


def test_stems_by_script() -> None:
    stems = Stems()
    assert stems.of("doses") == stems.of("dose")
    assert stems.of("облучения") == stems.of("облучением")
    assert stems.of("учёт") == stems.of("учет")
    assert stems.of("the of и в") == []
    assert stems.of("6,5") == stems.of("6.5") == ["6.5"]
    assert is_cyrillic("Дозы CT")
    assert not is_cyrillic("Dose КТ limits")


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("How many days do we have to appeal?", "time"),
        ("Сколько лет хранят снимки?", "time"),
        ("За сколько рабочих дней выдают копии?", "time"),
        ("С какого возраста делают маммографию?", "time"),
        ("What effective dose does a chest CT deliver?", "dose"),
        ("Какой предел дозы для беременных?", "dose"),
        ("Upper limit of gallbladder wall thickness in mm?", "length"),
        ("Какую толщину эндометрия требует приказ в миллиметрах?", "length"),
        ("Сколько рублей стоит вызов?", "money"),
        ("How much does FDA charge for an inspection?", "money"),
        ("normal adult spleen weight in grams", "mass"),
        ("By what percentage is the payment cut?", "percent"),
        ("Above which density in Hounsfield units?", "density"),
        ("Какую площадь кабинета закладывать?", "area"),
        ("How many members are on the committee?", "number"),
    ],
)
def test_kinds_asked(query: str, kind: str) -> None:
    assert any(kind in names for names in read_question(query).kinds), read_question(query)


@pytest.mark.parametrize(
    "query",
    [
        "Who signs the report?",
        "Кому отдают справку?",
        "What is a pterion?",
        "The cap, in the unit we order it?",
    ],
)
def test_nothing_countable_asked(query: str) -> None:
    assert read_question(query).kinds == ()


@pytest.mark.parametrize(
    ("text", "header", "kind", "expected"),
    [
        ("within 60 days of the decision", "", "time", True),
        ("within six months", "", "time", True),
        ("не более сорока пяти рабочих дней", "", "time", True),
        ("within the period set", "", "time", False),
        ("5 to 10 mSv", "", "dose", True),
        ("15", "Limit (rem)", "dose", True),
        ("fifteen people", "Limit (rem)", "dose", False),
        ("8–10 cm long", "", "length", True),
        ("8 kg", "", "length", False),
        ("$10,000", "", "money", True),
        ("2224,6 рубля", "", "money", True),
        ("5 percent", "", "percent", True),
        ("not fewer than 13 individuals", "", "number", True),
        ("some individuals", "", "number", False),
    ],
)
def test_holds(text: str, header: str, kind: str, expected: bool) -> None:
    assert holds(text, header, frozenset({kind})) is expected


def test_attributes() -> None:
    assert names_attribute("the wall is 3 mm thick", "thickness")
    assert not names_attribute("the organ is 8 cm long", "thickness")
    assert names_attribute("толщина стенки", "thickness")
