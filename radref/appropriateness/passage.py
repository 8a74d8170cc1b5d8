"""The passage of a variant: the one text that is reviewed, indexed, cited and shown, and read back from.

`parse(render(variant)) == variant`: what a citation shows is what the gateway answers with.

    # TITLE

    - Form: appropriateness-kb/2
    - Variant: ID
    - Topic: TITLE (ID)
    - Population: adult
    - Urgency: emergency
    - All of: ITEM; ITEM
    - Any of: ITEM; ITEM
    - None of: ITEM; ITEM
    - Assumed unless stated: ITEM; ITEM
    - Keywords: ITEM; ITEM
    - Knowledge base: VERSION
    - Synthetic: invented for testing, not clinical guidance

    Why: NARRATIVE

    ## Procedures

    | Procedure | Rating | Category | Radiation | Comment | Id |
    |---|---|---|---|---|---|
    | CT head without IV contrast | 9 | usually appropriate | medium | COMMENT | ct-head-wo |

Lines without content are left out. Inside a list a semicolon, and inside the table a vertical bar, has a
backslash before it (`radref.appropriateness.separated`). Everything else stands as it is, so that names are
found word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn

from radref.appropriateness.model import Category, Criteria, Procedure, RadiationLevel, Urgency, Variant
from radref.appropriateness.rules import problems
from radref.appropriateness.separated import joined, split

FORM = "appropriateness-kb/2"
BLANK_LINE = "\n\n"

_CATEGORIES = {
    Category.USUALLY_APPROPRIATE: "usually appropriate",
    Category.MAY_BE_APPROPRIATE: "may be appropriate",
    Category.USUALLY_NOT_APPROPRIATE: "usually not appropriate",
}
_CRITERIA = {"all": "All of", "any": "Any of", "none": "None of", "assume": "Assumed unless stated"}
_SYNTHETIC = "invented for testing, not clinical guidance"
_NARRATIVE = "Why: "
_PROCEDURES = "## Procedures"
_TABLE_HEAD = ("| Procedure | Rating | Category | Radiation | Comment | Id |", "|---|---|---|---|---|---|")
_TOPIC = re.compile(r"(?P<title>.+) \((?P<id>[A-Za-z0-9._-]+)\)")


def render(variant: Variant) -> str:
    """The Markdown of a variant.

    Raises:
        ValueError: the variant breaks the rules of `radref.appropriateness.rules`.
    """
    found = problems(variant)
    if found:
        where = ".".join(str(step) for step in found[0].path)
        raise ValueError(f"This variant has no passage: {where} {found[0].message}.")
    blocks = [f"# {variant.title}", "\n".join(f"- {label}: {text}" for label, text in _facts(variant))]
    if variant.narrative:
        blocks.append(f"{_NARRATIVE}{variant.narrative}")
    rows = [_row(procedure) for procedure in variant.procedures]
    return BLANK_LINE.join([*blocks, _PROCEDURES, "\n".join([*_TABLE_HEAD, *rows])])


def parse(text: str) -> Variant:
    """The variant whose passage this is.

    Raises:
        ValueError: it is not exactly a passage as `render` writes them; the message says what is not.
    """
    blocks = text.split(BLANK_LINE)
    if len(blocks) not in (4, 5):
        _refuse("title, facts, narrative and procedures, with a blank line between two, are expected")
    title, facts, *narratives, heading, table = blocks
    if not title.startswith("# "):
        _refuse("it does not begin with a title")
    if heading != _PROCEDURES:
        _refuse(f"the heading {_PROCEDURES!r} is missing")
    if narratives and not narratives[0].startswith(_NARRATIVE):
        _refuse(f"the narrative does not begin with {_NARRATIVE!r}")
    variant = _variant(
        title.removeprefix("# "),
        _labelled(facts),
        narratives[0].removeprefix(_NARRATIVE) if narratives else "",
        tuple(_procedures(table)),
    )
    # Whatever was read leniently above shows here.
    if render(variant) != text:
        _refuse("it is not written in the canonical form")
    return variant


def _facts(variant: Variant) -> Iterator[tuple[str, str]]:
    yield "Form", FORM
    yield "Variant", variant.id
    yield "Topic", f"{variant.topic_title} ({variant.topic_id})"
    yield "Population", variant.population
    yield "Urgency", variant.urgency.value
    for name, label in _CRITERIA.items():
        items = getattr(variant.criteria, name)
        if items:
            yield label, joined(items, ";", "; ")
    if variant.keywords:
        yield "Keywords", joined(variant.keywords, ";", "; ")
    yield "Knowledge base", variant.kb_version
    if variant.synthetic:
        yield "Synthetic", _SYNTHETIC


def _variant(title: str, facts: dict[str, str], narrative: str, procedures: tuple[Procedure, ...]) -> Variant:
    form = _fact(facts, "Form")
    if form != FORM:
        _refuse(f"its form is not {FORM}")
    topic = _TOPIC.fullmatch(_fact(facts, "Topic"))
    if topic is None:
        _refuse("its topic has no id in parentheses")
    urgency = _fact(facts, "Urgency")
    if urgency not in list(Urgency):
        _refuse("its urgency is not known")
    return Variant(
        id=_fact(facts, "Variant"),
        topic_id=topic["id"],
        topic_title=topic["title"],
        title=title,
        population=_fact(facts, "Population"),
        urgency=Urgency(urgency),
        criteria=Criteria(**{name: _items(facts, label) for name, label in _CRITERIA.items()}),
        keywords=_items(facts, "Keywords"),
        narrative=narrative,
        procedures=procedures,
        kb_version=_fact(facts, "Knowledge base"),
        synthetic="Synthetic" in facts,
    )


def _labelled(block: str) -> dict[str, str]:
    facts: dict[str, str] = {}
    for line in block.split("\n"):
        label, colon, text = line.removeprefix("- ").partition(": ")
        if not line.startswith("- ") or not colon or label in facts:
            _refuse("a line of its facts is not a label and a text, or a label comes twice")
        facts[label] = text
    return facts


def _fact(facts: dict[str, str], label: str) -> str:
    if label not in facts:
        _refuse(f"the line {label!r} is missing")
    return facts[label]


def _items(facts: dict[str, str], label: str) -> tuple[str, ...]:
    return tuple(split(facts[label], ";")) if label in facts else ()


def _row(procedure: Procedure) -> str:
    cells = (
        procedure.name,
        str(procedure.rating),
        _CATEGORIES[procedure.category],
        procedure.radiation_level.value,
        procedure.comment,
        procedure.id,
    )
    return f"| {joined(cells, '|', ' | ')} |"


def _procedures(table: str) -> Iterator[Procedure]:
    lines = table.split("\n")
    if tuple(lines[:2]) != _TABLE_HEAD:
        _refuse("the table of procedures has other columns")
    for line in lines[2:]:
        cells = split(line.removeprefix("|").removesuffix("|"), "|")
        if len(cells) != 6 or not re.fullmatch("[1-9]", cells[1]) or cells[3] not in list(RadiationLevel):
            _refuse("a row of the table of procedures is not complete")
        name, rating, _, radiation, comment, procedure_id = cells
        yield Procedure(procedure_id, name, int(rating), RadiationLevel(radiation), comment)


def _refuse(why: str) -> NoReturn:
    raise ValueError(f"This is not the passage of a variant: {why}.")
