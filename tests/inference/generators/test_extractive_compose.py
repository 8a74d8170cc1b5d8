"""What a bare sentence, item or row would say wrongly, and what is shown instead; every statement must pass
the gateway's validator, the two sides knowing of each other only the JSON of the answer."""

import json

import pytest

from gateway.answering.schema import parse_answer
from gateway.validation import PassageText, ValidationPolicy, validate
from inference_svc.generators.extractive.compose import compose, drop_contained
from inference_svc.generators.extractive.units import read_passage
from inference_svc.generators.generator import Grounding

TABLE = """### Dose limits

Table 1. Annual limits.

| Organ | Workers (mSv) | Public (mSv) |
| --- | --- | --- |
| Whole body | 20 | 1 |
| Lens of the eye* | 20 | 15 |
| Extremities | | |
| Hands | 500 | 50 |
| | 300 | 30 |

\\* Averaged over 5 years.
"""

# (name, passage, words of the unit, what the statement must hold)
CASES = [
    (
        "lead-in turns the item round",
        "The following are exempt from registration:\n\n- dental units\n- bone densitometers",
        "bone densitometers",
        ["exempt", "bone densitometers"],
    ),
    (
        "lead-in names the group",
        "The following limits apply to workers:\n\n- 50 mSv to the skin\n- 20 mSv to the lens",
        "20 mSv",
        ["workers", "20 mSv to the lens"],
    ),
    (
        "lead-in of an enumerated law",
        "Scans may not be given to relatives:\n\n(1) without written consent;\n\n(2) by telephone.",
        "by telephone",
        ["may not", "by telephone"],
    ),
    (
        "two levels of lead-ins",
        "A licence is refused when:\n\n(a) the applicant:\n\n(i) is under 18 years old;\n\n(ii) was "
        "convicted.",
        "under 18",
        ["refused", "applicant", "under 18"],
    ),
    (
        "nested bullets",
        "Do not scan:\n\n- patients with\n  - pacemakers\n  - clips",
        "pacemakers",
        ["Do not scan", "patients with", "pacemakers"],
    ),
    (
        "item after siblings",
        "Not allowed are:\n\n1. alpha sources\n2. beta sources\n3. neutron sources",
        "neutron",
        ["Not allowed", "neutron"],
    ),
    (
        "negated lead-in in Russian",
        "Не допускается:\n\n1) работа без дозиметра;\n\n2) допуск лиц моложе 18 лет.",
        "моложе 18",
        ["Не допускается", "моложе 18 лет"],
    ),
    (
        "Russian exemption",
        "Плата не взимается за:\n\n- маммографию;\n- флюорографию.",
        "флюорографию",
        ["не взимается", "флюорографию"],
    ),
    (
        "Russian law's condition",
        "Сведения без согласия гражданина предоставляются:\n\n1) по запросу суда;\n\n2) при угрозе эпидемии.",
        "запросу суда",
        ["без согласия", "суда"],
    ),
    (
        "bold lead-in",
        "**Exclusion criteria:**\n\n- claustrophobia\n- first trimester",
        "claustrophobia",
        ["Exclusion criteria", "claustrophobia"],
    ),
    ("row with header", TABLE, "Whole body", ["Workers (mSv): 20", "Public (mSv): 1"]),
    ("row with caption", TABLE, "Whole body", ["Table 1. Annual limits"]),
    ("row with footnote", TABLE, "Lens of the eye", ["Averaged over 5 years"]),
    ("row of a group", TABLE, "Hands", ["Extremities", "Workers (mSv): 500"]),
    ("row that continues a cell", TABLE, "300", ["Hands", "Workers (mSv): 300"]),
    (
        "row of a Russian table",
        "| Показатель | Норматив, рублей |\n| --- | --- |\n| Вызов скорой помощи | 2224,6 |",
        "2224,6",
        ["Вызов скорой помощи", "Норматив, рублей: 2224,6"],
    ),
    (
        "row under a lead-in",
        "For children the limits are:\n\n| Organ | mGy |\n| --- | --- |\n| Thyroid | 2 |",
        "Thyroid",
        ["For children", "mGy: 2"],
    ),
    (
        "exception after the rule",
        "Shielding must be 2 mm thick. However, dental units need no shielding.",
        "2 mm",
        ["However, dental units need no shielding"],
    ),
    (
        "unless after the rule",
        "Each film is kept for 5 years. Unless the patient moves, no copy is made.",
        "5 years",
        ["Unless the patient moves"],
    ),
    (
        "exception in Russian",
        "Полис выдаётся в день обращения. Однако иностранцам он выдаётся через 10 дней.",
        "в день обращения",
        ["Однако иностранцам", "10 дней"],
    ),
    (
        "за исключением",
        "Осмотр проводится ежегодно. За исключением случаев беременности, он обязателен.",
        "ежегодно",
        ["За исключением случаев беременности"],
    ),
    (
        "exception opens the next paragraph",
        "The room must be locked.\n\nExcept in an emergency, nobody enters alone.",
        "must be locked",
        ["Except in an emergency"],
    ),
    (
        "negating follow-up",
        "The rule covers all x-ray rooms. This rule does not cover CT.",
        "all x-ray rooms",
        ["does not cover CT"],
    ),
    (
        "it refers back",
        "A phantom is a test object. It must be scanned weekly.",
        "scanned weekly",
        ["phantom is a test object"],
    ),
    (
        "this limit refers back",
        "Pregnant workers may get 1 mSv. This limit holds until birth.",
        "until birth",
        ["Pregnant workers may get 1 mSv"],
    ),
    (
        "they twice back",
        "Gonad shields are obsolete. They move. They hide anatomy.",
        "hide anatomy",
        ["Gonad shields are obsolete"],
    ),
    ("он refers back", "Аппарат не поверен. Он не допускается к работе.", "к работе", ["Аппарат не поверен"]),
    ("такой refers back", "Полис утерян. Такой полис недействителен.", "недействителен", ["Полис утерян"]),
    (
        "в этом случае refers back",
        "Пациент отказался от контраста. В этом случае отказ оформляется письменно.",
        "письменно",
        ["отказался от контраста"],
    ),
    (
        "however looks back",
        "All rooms need a sign. However, mobile units need none.",
        "mobile units",
        ["All rooms need a sign"],
    ),
    (
        "pronoun opens a paragraph",
        "Boost mode needs a continuous signal.\n\nIt must be audible at 1 m.",
        "audible",
        ["Boost mode"],
    ),
    (
        "sentence broken by a page",
        "The assembler shall file the report within\n\nfifteen days of completing the assembly.",
        "fifteen days",
        ["shall file the report within"],
    ),
    (
        "heading tells the population",
        "## Children\n\n### Chest\n\nThe reference level is 0.1 mGy per image.",
        "0.1 mGy",
        ["Children > Chest"],
    ),
    (
        "heading tells the negation",
        "## Devices not covered\n\nDisplays in handheld devices are meant here.",
        "handheld",
        ["Devices not covered"],
    ),
    ("heading of the path", "The limit is 5 mSv in a year.", "5 mSv", ["§ 7 Visitors"]),
    (
        "list whole with its lead-in",
        "The layers are:\n\n- zona glomerulosa\n- zona fasciculata\n- zona reticularis",
        "layers are",
        ["glomerulosa", "fasciculata", "reticularis"],
    ),
    (
        "answer with its question",
        "Must the films be kept after closing?\n\nNo. They go to the patient or another facility.",
        "go to the patient",
        ["Must the films be kept", "No."],
    ),
    (
        "a no is not lost",
        "May residents read alone?\n\nNo. Residents need a supervisor. Supervisors sign all reports.",
        "sign all",
        ["May residents", "No. Residents"],
    ),
    (
        "Russian question and answer",
        "Нужно ли согласие для КТ?\n\nДа, в письменной форме до исследования.",
        "письменной",
        ["Нужно ли согласие для КТ?"],
    ),
    (
        "abbreviation does not cut",
        "Values follow ст. 13 закона, e.g. No. 5, and hold for children only.",
        "hold for children",
        ["Values follow", "children only"],
    ),
    (
        "condition in front stays",
        "If the tube is cracked, e.g. at the seal, the unit must not be used.",
        "must not be used",
        ["If the tube is cracked"],
    ),
    (
        "lost heading does not hide",
        "Sect. A applies.\n\n# Adults\n\nGive 5 mL of contrast. Do not give it to infants.",
        "Give 5 mL",
        ["Adults", "5 mL"],
    ),
]


def shown(text: str, words: str) -> tuple[str, Grounding, list[dict[str, str]]]:
    source = Grounding("c1", "Code", ("Part 1", "§ 7 Visitors"), text, ())
    read = read_passage(source, 0)
    units = [unit for unit in read.units if words in text[slice(*unit.span)]]
    assert units, [text[slice(*unit.span)] for unit in read.units]
    unit = min(units, key=lambda unit: unit.span[1] - unit.span[0])
    quoted = compose(read, unit)
    return quoted.text, source, [{"id": "c1", "quote": text[a:b]} for a, b in drop_contained(quoted.spans)]


@pytest.mark.parametrize(
    ("text", "words", "needed"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_governs_is_shown_and_valid(text: str, words: str, needed: list[str]) -> None:
    statement, source, citations = shown(text, words)
    for piece in needed:
        assert piece in statement, statement
    assert all(citation["quote"] in text for citation in citations)
    answer = json.dumps({"insufficient": False, "statements": [{"text": statement, "citations": citations}]})
    passages = {"c1": PassageText(source.text, source.section_path, source.title)}
    result = validate(parse_answer(answer), passages, ValidationPolicy())
    assert [kept.text for kept in result.statements] == [statement], result.counts
    assert result.counts.citations_misquoted == 0, citations
    assert result.counts.statements_flagged == 0


def test_a_lead_in_is_never_shown_alone() -> None:
    items = "\n".join(
        f"- rule number {number} of the long list, which says a good deal more" for number in range(60)
    )
    read = read_passage(Grounding("c1", "", (), f"The rules are:\n\n{items}", ()), 0)
    assert all(not read.source.text[slice(*unit.span)].rstrip().endswith(":") for unit in read.units)


def test_stray_labels_are_no_units() -> None:
    text = "Contains Nonbinding Recommendations\n\n17\n\nThe dose limit is 5 mSv.\n\nSee."
    read = read_passage(Grounding("c1", "", (), text, ()), 0)
    assert [text[slice(*unit.span)] for unit in read.units] == ["The dose limit is 5 mSv."]


def test_title_is_not_repeated_as_heading() -> None:
    read = read_passage(Grounding("c1", "Code", ("Code", "Part"), "The limit is 5 mSv.", ()), 0)
    assert compose(read, read.units[0]).text == "Part: The limit is 5 mSv."


def test_a_later_section_is_not_shown_under_an_earlier_heading() -> None:
    text = "### § 1 Scope\n\nThis part covers x-rays.\n\n### § 2 Limits\n\nThe limit is 5 mSv."
    read = read_passage(Grounding("c1", "Code", ("Part 9", "§ 1 Scope"), text, ()), 0)
    assert read.units[-1].headings == ("Part 9", "§ 2 Limits")
