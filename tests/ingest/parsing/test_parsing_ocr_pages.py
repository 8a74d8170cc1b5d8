"""Pages drawn by the tests, read with the engine that is installed."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw

from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.ocr.model import OcrPage
from tests.ingest.parsing.ocr_test_pages import ENGLISH, RUSSIAN, font, needs_tesseract, page, prose, reader

pytestmark = needs_tesseract


def read(image: Image.Image) -> OcrPage:
    return reader().read(image, 4)


def texts(result: OcrPage, kind: BlockKind) -> list[str]:
    return [block.text for block in result.blocks if block.kind is kind]


@pytest.mark.parametrize(("lines", "turn"), [(RUSSIAN, 0), (ENGLISH, 90), (ENGLISH, 180), (RUSSIAN, 270)])
def test_lines_become_one_paragraph_however_the_page_lies(lines: tuple[str, ...], turn: int) -> None:
    result = read(prose(lines).rotate(turn, expand=True))
    assert result.blocks == (Block(BlockKind.PARAGRAPH, " ".join(lines), 0, (4, 4)),)
    assert result.confidence > 0.85
    assert result.words == len(" ".join(lines).split())
    assert not result.unsure


@pytest.mark.parametrize(("lines", "angle"), [(ENGLISH, 3.0), (RUSSIAN, -7.0)])
def test_skewed(lines: tuple[str, ...], angle: float) -> None:
    image = prose(lines).rotate(angle, Image.Resampling.BICUBIC, expand=True, fillcolor=255)
    assert texts(read(image), BlockKind.PARAGRAPH) == [" ".join(lines)]


def test_skewed_and_upside_down() -> None:
    image = prose(ENGLISH).rotate(182.5, Image.Resampling.BICUBIC, expand=True, fillcolor=255)
    assert texts(read(image), BlockKind.PARAGRAPH) == [" ".join(ENGLISH)]


@pytest.mark.parametrize("size", [16, 130], ids=["72 dpi", "900 dpi"])
def test_letters_of_any_resolution(size: int) -> None:
    lines = ("Every examination room", "needs a warning light.")
    step = round(1.5 * size)
    texts_at = [(size, size + at * step, size, "", line) for at, line in enumerate(lines)]
    image = page(texts_at, (round(size * 16), round(size * 5)))
    assert texts(read(image), BlockKind.PARAGRAPH) == [" ".join(lines)]


def test_headings_by_size_and_weight() -> None:
    body = [(100, 520 + at * 62, 42, "", line) for at, line in enumerate(ENGLISH)]
    image = page(
        [
            (100, 100, 88, "", "Radiation Safety"),
            (100, 280, 60, "", "Protective Equipment"),
            (100, 420, 42, "Bold", "Lead Aprons"),
            *body,
        ]
    )
    result = read(image)
    headings = [(block.level, block.text) for block in result.blocks if block.kind is BlockKind.HEADING]
    assert headings == [(1, "# Radiation Safety"), (2, "## Protective Equipment"), (3, "### Lead Aprons")]
    assert texts(result, BlockKind.PARAGRAPH) == [" ".join(ENGLISH)]


def test_two_columns_one_after_the_other() -> None:
    left = (
        "The left column says how the",
        "room is shielded and who may",
        "enter while the beam is on.",
        "The door stays closed and",
        "the signal above it is lit.",
        "A second exit is not needed.",
    )
    right = (
        "The right column says how the",
        "dose is measured and written",
        "down after each examination.",
        "Values over the reference",
        "level are looked into by the",
        "physicist within two weeks.",
    )
    placed = [(x, 120 + at * 62, 42, "", line) for x, lines in ((100, left), (1050, right))
              for at, line in enumerate(lines)]  # fmt: skip
    text = " ".join(block.text for block in read(page(placed)).blocks)
    assert text == " ".join((*left, *right))


def test_bullets_and_labels() -> None:
    items = ("Check the warning light", "Check the lead apron", "Write the log")
    steps = ("Close the door", "Start the exposure", "Note the dose")
    placed = [(100, 100 + at * 80, 42, "", f"• {item}") for at, item in enumerate(items)]
    placed += [(100, 480 + at * 80, 42, "", f"{at + 1}. {step}") for at, step in enumerate(steps)]
    result = read(page(placed))
    assert texts(result, BlockKind.LIST) == [
        "\n".join(f"- {item}" for item in items),
        "\n".join(f"{at + 1}. {step}" for at, step in enumerate(steps)),
    ]


TABLE_EN = (
    ("Examination", "Dose, mSv", "Limit"),
    ("Chest", "0.1", "0.3"),
    ("Pelvis", "0.7", "1.0"),
    ("Lumbar spine", "1.5", "2.0"),
)
TABLE_RU = (
    ("Исследование", "Доза, мЗв", "Предел"),
    ("Грудная клетка", "0,1", "0,3"),
    ("Таз", "0,7", "1,0"),
    ("Поясница", "1,5", "2,0"),
)


def draw_table(rows: tuple[tuple[str, ...], ...], rules: bool, lead: str) -> Image.Image:
    image = page([(100, 80, 42, "", lead)])
    draw = ImageDraw.Draw(image)
    face = font(42)
    lefts, height = (100, 700, 1200, 1700), 84
    for at, row in enumerate(rows):
        for left, cell in zip(lefts, row, strict=False):
            draw.text((left + 24, 220 + at * height + 14), cell, font=face, fill=0)
    if rules:
        for at in range(len(rows) + 1):
            draw.line((lefts[0], 220 + at * height, lefts[-1], 220 + at * height), fill=0, width=3)
        for left in lefts:
            draw.line((left, 220, left, 220 + len(rows) * height), fill=0, width=3)
    return image


def markdown(rows: tuple[tuple[str, ...], ...]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "| --- | --- | --- |", *lines[1:]])


@pytest.mark.parametrize(
    ("rows", "lead", "rules"),
    [(TABLE_EN, ENGLISH[0], False), (TABLE_RU, RUSSIAN[0], True)],
    ids=["aligned", "ruled"],
)
def test_table(rows: tuple[tuple[str, ...], ...], lead: str, rules: bool) -> None:
    result = read(draw_table(rows, rules, lead))
    assert texts(result, BlockKind.TABLE) == [markdown(rows)]
    assert texts(result, BlockKind.PARAGRAPH) == [lead]


def test_ruled_table_with_wrapped_cells() -> None:
    image = Image.new("L", (2000, 900), 255)
    draw = ImageDraw.Draw(image)
    face = font(42)
    for y in (100, 190, 340, 490):
        draw.line((100, y, 1700, y), fill=0, width=3)
    for x in (100, 600, 1700):
        draw.line((x, 100, x, 490), fill=0, width=3)
    for x, y, text in (
        (124, 116, "Term"), (624, 116, "Meaning"),
        (124, 206, "Absorbed dose"), (624, 206, "Energy that radiation leaves in a unit"),
        (624, 266, "of mass, given in gray"),
        (124, 356, "Effective dose"), (624, 356, "Sum over organs, weighted by how"),
        (624, 416, "sensitive they are, in sievert"),
    ):  # fmt: skip
        draw.text((x, y), text, font=face, fill=0)
    assert texts(read(image), BlockKind.TABLE) == [
        "| Term | Meaning |\n| --- | --- |\n"
        "| Absorbed dose | Energy that radiation leaves in a unit of mass, given in gray |\n"
        "| Effective dose | Sum over organs, weighted by how sensitive they are, in sievert |"
    ]


def test_prose_in_a_frame_is_no_table() -> None:
    image = prose(ENGLISH)
    ImageDraw.Draw(image).rectangle((60, 80, 1960, 360), outline=0, width=4)
    result = read(image)
    assert texts(result, BlockKind.TABLE) == []
    assert texts(result, BlockKind.PARAGRAPH) == [" ".join(ENGLISH)]


@pytest.mark.parametrize("shade", [255, 0, 128])
def test_blank(shade: int) -> None:
    result = read(Image.new("L", (1700, 2200), shade))
    assert result == OcrPage((), 0.0, 0, "tesseract")


def test_rules_and_dirt_are_no_text() -> None:
    image = Image.new("L", (1700, 2200), 255)
    draw = ImageDraw.Draw(image)
    for at in range(5):
        draw.line((100, 300 + at * 200, 1600, 300 + at * 200), fill=0, width=4)
    for x, y in np.random.default_rng(3).integers(50, 1650, (40, 2)).tolist():
        draw.ellipse((x, y, x + 4, y + 4), fill=0)
    assert read(image).blocks == ()


def test_photograph_is_no_text() -> None:
    noise = np.random.default_rng(7).normal(120, 40, (60, 80)).clip(0, 255).astype(np.uint8)
    image = Image.fromarray(noise).resize((1600, 1200), Image.Resampling.BICUBIC)
    assert read(image).blocks == ()


def test_text_on_a_noisy_photographed_page() -> None:
    sheet = np.asarray(prose(ENGLISH), dtype=np.float64)
    shadow = np.linspace(0.55, 1.0, sheet.shape[1])[None, :]
    noisy = sheet * shadow + np.random.default_rng(5).normal(0, 8, sheet.shape)
    image = Image.fromarray(noisy.clip(0, 255).astype(np.uint8))
    assert texts(read(image), BlockKind.PARAGRAPH) == [" ".join(ENGLISH)]


def test_light_text_on_a_dark_page() -> None:
    image = Image.eval(prose(ENGLISH), lambda value: 255 - value)
    assert texts(read(image), BlockKind.PARAGRAPH) == [" ".join(ENGLISH)]


def test_badly_blurred_page_is_marked_unsure() -> None:
    small = prose(ENGLISH).resize((380, 228), Image.Resampling.BOX)
    result = read(small.resize((2000, 1200), Image.Resampling.BICUBIC))
    assert not result.blocks or result.unsure or result.confidence >= 0.6
    assert 0.0 <= result.confidence <= 1.0


def test_header_cells_at_different_heights() -> None:
    """A line of text across the table would cut the letters of cells that are centred beside taller ones."""
    rows = (
        ("Область", "Доза,\nмЗв", "Референтный\nуровень,\nмГр"),
        ("Таз", "0,7", "12"),
        ("Кисть", "0,1", "3"),
    )
    image = Image.new("L", (1700, 620), 255)
    draw = ImageDraw.Draw(image)
    xs, ys = (60, 560, 900, 1600), (40, 280, 400, 520)
    draw.rectangle((xs[0], ys[0], xs[-1], ys[1]), fill=190)
    for row, top, bottom in zip(rows, ys, ys[1:], strict=False):
        for cell, left, right in zip(row, xs, xs[1:], strict=False):
            middle = ((left + right) / 2, (top + bottom) / 2)
            draw.multiline_text(middle, cell, font=font(42, "Bold"), fill=0, anchor="mm", align="center")
    for y in ys:
        draw.line((xs[0], y, xs[-1], y), fill=0, width=3)
    for x in xs:
        draw.line((x, ys[0], x, ys[-1]), fill=0, width=3)
    assert texts(read(image), BlockKind.TABLE) == [
        "| Область | Доза, мЗв | Референтный уровень, мГр |\n| --- | --- | --- |\n"
        "| Таз | 0,7 | 12 |\n| Кисть | 0,1 | 3 |"
    ]
