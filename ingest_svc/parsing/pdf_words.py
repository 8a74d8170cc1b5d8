"""Glyphs of a PDF page to words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from pdfminer.layout import LTChar

from ingest_svc.parsing.pdf_accents import composed
from ingest_svc.parsing.pdf_frame import Frame
from ingest_svc.parsing.pdf_glyph import Glyph
from ingest_svc.parsing.pdf_model import Word, union
from ingest_svc.parsing.pdf_symbols import readable

# A gap of this share of the font size parts two words; pdfplumber's documentation suggests 0.15 for its own.
_WORD_GAP = 0.15
# Characters printed twice, less than a third of their width apart, are how some programs make bold.
_DOUBLE_SHARE = 0.3
# Text smaller than this is not meant to be read, points.
_MIN_SIZE = 1.0
# Fonts of signs give the depth of their deepest sign as that of all, in font sizes; letters reach down 0.25.
_MAX_DESCENT = 0.6
_DESCENT = 0.25
# Computer Modern's large operators do hang below the base line.
_LARGE_SIGNS = re.compile(r"^cmex", re.I)
_BOLD_NAME = re.compile(r"bold|black|heavy|demi|(?:[-,]|no9l-)(?:bd|medi)\b|bd(?:it)?$", re.I)
_SUBSET = re.compile(r"^[A-Z]{6}\+")


def bare_name(font: str | bytes) -> str:
    """Font name without the prefix of a subset."""
    return _SUBSET.sub("", font if isinstance(font, str) else font.decode("latin-1"))


def glyphs_of(chars: Sequence[LTChar], frame: Frame) -> list[Glyph]:
    """Readable characters in a frame; overprints and specks left out, accents put on their letters."""
    fonts: dict[str | bytes, str] = {}
    texts: dict[tuple[str, str], str] = {}
    found: list[Glyph] = []
    for char in chars:
        name = fonts.get(char.fontname)
        if name is None:
            name = fonts[char.fontname] = bare_name(char.fontname)
        x0, top, x1, bottom = frame.box(char.x0, char.y0, char.x1, char.y1)
        size = bottom - top
        if size < _MIN_SIZE:
            continue
        key = (char.get_text(), name)
        text = texts.get(key)
        if text is None:
            text = texts[key] = unicodedata.normalize("NFC", readable(*key))
        x, y = char.matrix[4:6]
        base = frame.depth(x, y)
        if bottom - base > _MAX_DESCENT * size and not _LARGE_SIGNS.match(name):
            top, bottom = base - (1 - _DESCENT) * size, base + _DESCENT * size
        found.append(Glyph(text, x0, top, x1, bottom, size, name, base))
    return composed(_without_doubles(found))


def words_of(glyphs: Sequence[Glyph]) -> list[Word]:
    """Words, row by row."""
    words: list[Word] = []
    for row in _rows(glyphs):
        part: list[Glyph] = []
        space = False
        for glyph in row:
            if glyph.text.isspace() or not glyph.text:
                space = True
                continue
            if part:
                last = part[-1]
                gap = glyph.x0 - last.x1
                if _is_narrow(last) and 0 < gap < glyph.size and not space:
                    last.x1, gap = glyph.x0, 0.0
                # A space that takes no room (drawn under a letter) parts nothing.
                if (
                    (space and gap > 0.01 * glyph.size)
                    or gap > _WORD_GAP * max(glyph.size, last.size)
                    or gap < -glyph.size
                    or abs(glyph.size - last.size) > 0.15 * last.size
                ):
                    _add(part, words)
            part.append(glyph)
            space = False
        _add(part, words)
    return words


def _is_narrow(glyph: Glyph) -> bool:
    """pdfminer knows no width for some fonts, Symbol among them: the next character tells it."""
    return glyph.x1 - glyph.x0 < 0.02 * glyph.size


def turned_lines(glyphs: Sequence[Glyph]) -> list[Word]:
    """Text of another direction, in its own frame: one `Word` a line."""
    lines: list[Word] = []
    for word in words_of(glyphs):
        last = lines[-1] if lines else None
        if (
            last is not None
            and abs(last.bottom - word.bottom) < 0.3 * word.size
            and -word.size < word.x0 - last.x1 < 1.5 * word.size
        ):
            x0, top, x1, bottom = union(((last.x0, last.top, last.x1, last.bottom), _box(word)))
            lines[-1] = Word(
                f"{last.text} {word.text}", x0, top, x1, bottom, last.size, last.font, last.bold, True
            )
        else:
            lines.append(Word(word.text, *_box(word), word.size, word.font, word.bold, True))
    return lines


def _box(word: Word) -> tuple[float, float, float, float]:
    return word.x0, word.top, word.x1, word.bottom


def _rows(glyphs: Sequence[Glyph]) -> list[list[Glyph]]:
    """Glyphs on one base line, left to right; raised and lowered ones are rows of their own."""
    rows: list[list[Glyph]] = []
    for glyph in sorted(glyphs, key=lambda item: item.base):
        if rows and glyph.base - rows[-1][0].base <= 0.2 * min(glyph.size, rows[-1][0].size):
            rows[-1].append(glyph)
        else:
            rows.append([glyph])
    return [sorted(row, key=lambda item: item.x0) for row in rows]


def _add(part: list[Glyph], words: list[Word]) -> None:
    if not part:
        return
    if _is_narrow(part[-1]):
        part[-1].x1 += 0.3 * part[-1].size
    fonts: dict[str, int] = {}
    for glyph in part:
        fonts[glyph.font] = fonts.get(glyph.font, 0) + 1
    bold = sum(count for font, count in fonts.items() if is_bold(font))
    box = union((glyph.x0, glyph.top, glyph.x1, glyph.bottom) for glyph in part)
    words.append(
        Word(
            "".join(glyph.text for glyph in part),
            *box,
            part[0].size,
            max(fonts, key=lambda font: fonts[font]),
            2 * bold > len(part),
        )
    )
    part.clear()


def is_bold(font: str) -> bool:
    """The font's name says that it is a bold one."""
    return _BOLD_NAME.search(font) is not None


def _without_doubles(glyphs: Sequence[Glyph]) -> list[Glyph]:
    """Each character once; places are hashed by squares of two points, so few are compared."""
    seen: dict[tuple[str, int, int], list[tuple[float, float]]] = {}
    kept: list[Glyph] = []
    for glyph in glyphs:
        text, x, y = glyph.text, glyph.x0, glyph.top
        if text.isspace():
            kept.append(glyph)
            continue
        near = min(1.0, _DOUBLE_SHARE * (glyph.x1 - glyph.x0))
        columns = {int((x - near) / 2), int((x + near) / 2)}
        rows = {int((y - near) / 2), int((y + near) / 2)}
        if not any(
            abs(x - other_x) <= near and abs(y - other_y) <= near
            for column in columns
            for row in rows
            for other_x, other_y in seen.get((text, column, row), ())
        ):
            kept.append(glyph)
            seen.setdefault((text, int(x / 2), int(y / 2)), []).append((x, y))
    return kept
