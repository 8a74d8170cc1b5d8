"""The knowledge base file: what it becomes, and every mistake told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from radref.appropriateness import kb_file, yaml_nodes
from radref.appropriateness.kb_file import read_kb
from radref.appropriateness.model import Criteria, Procedure, RadiationLevel, Urgency
from radref.appropriateness.passage import parse, render
from radref.errors import InvalidInput
from tests.appropriateness.variant_texts import a_variant

SAMPLE = Path(__file__).parents[2] / "samples" / "appropriateness" / "kb.yaml"

GOOD = """\
schema: appropriateness-kb/2
version: "7"
topics:
  - id: knee
    title: Knee trauma
    variants:
      - id: knee-ottawa
        title: Acute knee trauma. Initial imaging.
        population: adult
        urgency: urgent
        criteria:
          all: [knee trauma]
          none: [child]
        keywords: [Ottawa rule, effusion]
        narrative: >
          A fracture is
          looked for first.
        procedures:
          - {id: xr-knee, name: Radiography knee, rating: 9, rrl: low, comment: First.}
          - id: mri-knee
            name: MRI knee
            rating: 5
            rrl: none
"""
LINES = GOOD.splitlines()


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "kb.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def mistakes(folder: Path, text: str | bytes) -> list[str]:
    with pytest.raises(InvalidInput) as refused:
        read_kb(written(folder, text))
    first, *lines = refused.value.message.splitlines()
    assert first.endswith("1 mistake:" if len(lines) == 1 else f"{len(lines)} mistakes:")
    return [line.removeprefix("kb.yaml:") for line in lines]


@pytest.fixture(params=["CSafeLoader", "SafeLoader"], autouse=True)
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With libyaml and without it."""
    monkeypatch.setattr(yaml_nodes, "_LOADER", getattr(yaml, request.param))


def test_good_file(tmp_path: Path) -> None:
    base = read_kb(written(tmp_path, GOOD))
    assert (base.version, base.synthetic) == ("7", False)
    assert base.variants == (
        a_variant(
            title="Acute knee trauma. Initial imaging.",
            urgency=Urgency.URGENT,
            criteria=Criteria(all=("knee trauma",), none=("child",)),
            narrative="A fracture is looked for first.",
            procedures=(
                Procedure("xr-knee", "Radiography knee", 9, RadiationLevel.LOW, "First."),
                Procedure("mri-knee", "MRI knee", 5, RadiationLevel.NONE),
            ),
            kb_version="7",
            synthetic=False,
        ),
    )


def test_sample_is_good() -> None:
    base = read_kb(SAMPLE)
    assert base.synthetic
    assert len(base.variants) == 12
    assert len({variant.topic_id for variant in base.variants}) == 5
    for variant in base.variants:
        assert parse(render(variant)) == variant


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_ends_and_byte_order_mark(tmp_path: Path, ending: str) -> None:
    data = b"\xef\xbb\xbf" + GOOD.replace("\n", ending).encode()
    assert read_kb(written(tmp_path, data)) == read_kb(written(tmp_path, GOOD))


@pytest.mark.parametrize(
    ("version", "extra", "synthetic"),
    [
        ("2026-synthetic", "", True),
        ("Synthetic-2", "", True),
        ("2026", "", False),
        ("2026", "synthetic: true\n", True),
        ("2026", "synthetic: false\n", False),
        ("2026-synthetic", "synthetic: true\n", True),
    ],
)
def test_synthetic_in_doubt(tmp_path: Path, version: str, extra: str, synthetic: bool) -> None:
    base = read_kb(written(tmp_path, extra + GOOD.replace('"7"', f'"{version}"')))
    assert base.synthetic is synthetic
    assert all(variant.synthetic is synthetic for variant in base.variants)


ONE_MISTAKE = [
    # before, after, line, message
    ("kb/2", "kb/1", 1, "schema must be one of appropriateness-kb/2, not appropriateness-kb/1"),
    ('"7"', "7", 2, "version is 7, which YAML reads as a number; put it in quotes"),
    ('"7"', "2026-01-01", 2, "version is 2026-01-01, which YAML reads as a date; put it in quotes"),
    ('"7"', '"7-synthetic"\nsynthetic: false', 3, 'synthetic is false, but the version is "7-synthetic"'),
    ('"7"', '"7"\nsynthetic: "true"', 3, "synthetic must be true or false"),
    ('"7"', f'"{"7" * 65}"', 2, "version of the file has 65 characters, at most 64 are possible"),
    ('version: "7"\n', "", 1, 'the file has no "version"'),
    ("topics:", "owner: me\ntopics:", 3, 'the file has the unknown key "owner" (known: schema, version, '),
    ("    title: Knee trauma\n", "", 4, 'topic "knee" has no "title"'),
    ("id: knee\n", "id: the knee\n", 4, "id of the topic may only hold the characters A-Z a-z 0-9 . _ -"),
    ("id: knee-ottawa", "id: Knee", 7, 'id of variant "Knee" may only hold the characters a-z 0-9 -'),
    ("id: knee-ottawa", f"id: {'k' * 101}", 7, "has 101 characters, at most 100 are possible"),
    ("        title: Acute knee trauma. Initial imaging.\n", "", 7, 'variant "knee-ottawa" has no "title"'),
    ("title: Acute knee trauma. Initial imaging.", "title:", 8, 'title of variant "knee-ottawa" is empty'),
    (
        "title: Acute knee trauma. Initial imaging.",
        'title: " "',
        8,
        'title of variant "knee-ottawa" is empty',
    ),
    ("title: Acute knee trauma. Initial imaging.", f"title: {'a' * 501}", 8, "has 501 characters"),
    ("title: Acute knee trauma. Initial imaging.", 'title: "a\\u202Eb"', 8, "invisible character U+202E"),
    ("title: Acute knee trauma. Initial imaging.", "title: Knee: trauma", 8, "is not YAML: mapping values"),
    ("population: adult", "population: Adult people", 9, "must be lower-case words joined by hyphens"),
    ("urgency: urgent", "urgency: soon", 10, "must be one of routine, urgent, emergency, not soon"),
    ("all: [knee trauma]", "all: []", 12, '"all" of variant "knee-ottawa" is an empty list'),
    ("all: [knee trauma]", "all: knee trauma", 12, '"all" of variant "knee-ottawa" must be a list'),
    ("all: [knee trauma]", "all: [a, no]", 12, "is no, which YAML reads as yes or no; put it in quotes"),
    ("all: [knee trauma]", "all: [a, 2026-01-01]", 12, "YAML reads as a date"),
    ("all: [knee trauma]", "all: [a, 12]", 12, "YAML reads as a number"),
    ("all: [knee trauma]", "all: [a, ~]", 12, "YAML reads as nothing"),
    ("all: [knee trauma]", "all: [a, [b]]", 12, 'item 2 of "all" of variant "knee-ottawa" must be a text'),
    ("all: [knee trauma]", "all: [a, b: c]", 12, 'must be a text; one that holds ": "'),
    ("all: [knee trauma]", "all: [stone, or renal colic]", 12, 'begins with "or": inside [ ] a comma ends'),
    (
        "all: [knee trauma]",
        "assume: [adult]",
        12,
        'criteria of variant "knee-ottawa" needs at least one item',
    ),
    ("all: [knee trauma]", "sometimes: [a]\n          any: [b]", 12, 'unknown key "sometimes"'),
    ("none: [child]", "none: [Knee trauma]", 12, 'stands under "all" and under "none"'),
    (
        "        criteria:\n          all: [knee trauma]\n          none: [child]\n",
        "",
        7,
        'has no "criteria"',
    ),
    ("keywords: [Ottawa rule, effusion]", "keywords: []", 14, "keywords of variant"),
    ("keywords: [Ottawa rule, effusion]", f"keywords: [{'a' * 201}]", 14, "item 1 of keywords of variant"),
    ("looked for first.", "x" * 10_000, 15, "narrative of variant"),
    (
        "rating: 9",
        "rating: 10",
        19,
        'rating of procedure 1 of variant "knee-ottawa" is 10; ratings are 1 to 9',
    ),
    ("rating: 9", "rating: 0", 19, "is 0; ratings are 1 to 9"),
    ("rating: 9", "rating: -1", 19, "is -1; ratings are 1 to 9"),
    ("rating: 9", "rating: 8.5", 19, "must be a whole number, not 8.5"),
    ("rating: 9", 'rating: "9"', 19, "is a number and needs no quotes"),
    ("rating: 9", "rating: [9]", 19, "must be a whole number, not no number"),
    ("rating: 9,", "rating: ,", 19, "must be a whole number, not empty"),
    ("rrl: low", "rrl: tiny", 19, "rrl of procedure 1 of variant"),
    ("            rrl: none\n", "", 20, 'procedure 2 of variant "knee-ottawa" has no "rrl"'),
    ("rrl: low", "rrl: low, rating: 8", 19, 'has the key "rating" twice, first in line 19'),
    (
        "            rating: 5",
        "            rating: 5\n            rating: 5",
        23,
        '"rating" twice, first in line 22',
    ),
    ("comment: First.", f"comment: {'c' * 1001}", 19, "comment of procedure 1"),
    ("comment: First.", "comment: First, urgent", 19, 'unknown key "urgent"'),
    ("name: Radiography knee", f"name: {'n' * 501}", 19, "name of procedure 1"),
    ("id: mri-knee", "id: xr-knee", 20, "is also the id of procedure 1 of this variant"),
    ("name: MRI knee", "name: radiography KNEE", 21, "is also the name of procedure 1 of this variant"),
    ("name: MRI knee", "name: &n MRI knee", 21, '"&n" is an anchor'),
    ("name: MRI knee", "name: *n", 21, '"*n" refers to another place'),
    ("name: MRI knee", "name: !!str MRI knee", 21, "is a tag"),
    ("name: MRI knee", "name: MRI\x07knee", 21, "invisible character U+0007"),
    ("name: MRI knee", "name: MRI\u2028knee", 21, "invisible character U+2028"),
    ("name: MRI knee", "\tname: MRI knee", 21, "is not YAML"),
]


@pytest.mark.parametrize(("before", "after", "line", "message"), ONE_MISTAKE)
def test_one_mistake(tmp_path: Path, before: str, after: str, line: int, message: str) -> None:
    assert GOOD.count(before) == 1, before
    found = mistakes(tmp_path, GOOD.replace(before, after))
    assert len(found) == 1, found
    assert found[0].startswith(f"{line}: "), found
    assert message in found[0]


def test_ids_are_there_once(tmp_path: Path) -> None:
    again = "\n".join(LINES[3:]) + "\n"
    assert mistakes(tmp_path, GOOD + again) == [
        '24: the topic id "knee" is already that of line 4',
        '27: the variant id "knee-ottawa" is already that of line 7',
    ]


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = (
        GOOD.replace("urgency: urgent", "urgency: soon")
        .replace("rating: 9", "rating: 12")
        .replace("title: Acute knee trauma. Initial imaging.", "title:")
        .replace("[Ottawa rule, effusion]", "[yes, effusion]")
        .replace("all: [knee trauma]", "all: [null, child]")
    )
    assert [found.split(":")[0] for found in mistakes(tmp_path, text)] == ["8", "10", "12", "12", "14", "19"]


def test_a_mistake_above_the_variants_is_told_once(tmp_path: Path) -> None:
    other = "\n".join(LINES[6:]).replace("knee-ottawa", "knee-other") + "\n"
    assert len(mistakes(tmp_path, (GOOD + other).replace("title: Knee trauma", f"title: {'k' * 501}"))) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: the file is empty"),
        ("# nothing\n", "1: the file is empty"),
        ("- a\n- b\n", "1: the file must be keys with values"),
        ("just words", "1: the file must be keys with values"),
        (GOOD + "---\n" + GOOD, "24: a second document begins here"),
        ("a: " + "[" * 100, "1: lists and keys are nested too deeply"),
        (
            GOOD.replace("name: MRI knee", 'name: "MRI knee'),
            "24: is not YAML: found unexpected end of stream",
        ),
        (GOOD.encode() + b"# \xe9t\xe9\n", "24: is not UTF-8 text"),
    ],
)
def test_not_such_a_file(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert any(found.startswith(message) for found in mistakes(tmp_path, text))


def test_alias_bomb_is_refused_before_it_unfolds(tmp_path: Path) -> None:
    levels = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for name, before in zip("bcdefghij", "abcdefghi", strict=True):
        levels.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    found = mistakes(tmp_path, "\n".join(levels))
    assert found[0] == '1: "&a" is an anchor; take it out, or put the text in quotes'


def test_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="cannot be read: No such file"):
        read_kb(tmp_path / "none.yaml")
    monkeypatch.setattr(kb_file, "MAX_FILE_BYTES", 10)
    with pytest.raises(InvalidInput) as refused:
        read_kb(written(tmp_path, GOOD))
    assert refused.value.reason == "FILE_TOO_LARGE"


def test_thousands_of_mistakes_are_cut_short(tmp_path: Path) -> None:
    words = "".join(f"x{number}: 1\n" for number in range(1000))
    with pytest.raises(InvalidInput) as refused:
        read_kb(written(tmp_path, GOOD + words))
    assert refused.value.message.endswith("... and 800 more")


def test_a_variant_as_a_whole_can_be_too_long(tmp_path: Path) -> None:
    items = ", ".join("c" * 490 + str(number) for number in range(90))
    long = GOOD.replace("all: [knee trauma]", f"all: [{items}]").replace("looked for first.", "x" * 9900)
    rest = ", ".join("n" * 490 + str(number) for number in range(10))
    long = long.replace("none: [child]", f"none: [{rest}]").replace("First.", "y" * 999)
    (found,) = mistakes(tmp_path, long)
    assert found.startswith('7: variant "knee-ottawa" has ')
    assert found.endswith("at most 60000 are possible")


def test_documentation_is_right(tmp_path: Path) -> None:
    """The example of the documentation is a good file, and becomes the passage shown there."""
    page = (SAMPLE.parents[2] / "docs" / "appropriateness.md").read_text(encoding="utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]
    (variant,) = read_kb(written(tmp_path, example)).variants
    assert render(variant) in page
    wrong = (
        example.replace("[acute knee trauma]", "[acute knee trauma, no]")
        .replace(
            '"unable to bear weight, or four steps not possible"', "unable to bear weight, or four steps"
        )
        .replace("rating: 9", "rating: 12")
    )
    shown = page.split("kb.yaml has 3 mistakes:\n")[1].split("```")[0].splitlines()
    assert mistakes(tmp_path, wrong) == [line.removeprefix("kb.yaml:") for line in shown]
