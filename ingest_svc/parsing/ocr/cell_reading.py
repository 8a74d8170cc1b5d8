"""A second look at cells of ruled tables.

Engines look for lines of text across a whole page. Where the cells of a table row stand at different heights
(a header centred beside one of three lines), such a line cuts letters in two or passes words over. Read by
itself a cell has nothing beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from ingest_svc.parsing.ocr.engine import Line, Word
from ingest_svc.parsing.ocr.frames import Box, Frame
from ingest_svc.parsing.ocr.pixels import contrast, ink

# Measured with tesseract 5.3: words of clean cells lie at 0.9 and more, cut ones at 0.7 and less.
_SURE = 0.85
_PASSABLE = 0.5
# Share of a cell's ink that its words leave: 0.01 where all was read, 0.1 and more where a word is missing.
_MAX_UNREAD = 0.05
_MAX_OVERLAP = 0.3
# Height of a word in font sizes; a bracket reaches 1.2.
_MAX_HEIGHT = 1.8
# Steps of grey between paper and ink; less is the grain of the paper.
_MIN_CONTRAST = 48
# Half a thick rule, and what its edge blurs.
_INSET = 5
_MAX_TRIM = 14
_RULE_SHARE = 0.8
_PADDING = 12
_MIN_INK = 30
# A page of more doubtful cells than this is no table that was misread.
_MAX_CELLS = 150

Area = tuple[int, int, int, int]
ReadStack = Callable[[Image.Image], tuple[Line, ...]]


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell to read again: what of the page was cut out, and the words that stand there so far."""

    picture: Image.Image
    left: int
    top: int
    words: tuple[Word, ...]
    frame: Frame


def cells_read_again(
    lines: tuple[Line, ...], image: Image.Image, frames: Sequence[Frame], read: ReadStack, size: float
) -> tuple[Line, ...]:
    """Lines in which the words of doubtful cells are those of a second reading, where that reads better.

    Args:
        lines: of a level page.
        image: the grey image they were read from.
        frames: the grids drawn on it.
        read: reads an image of text lines under each other.
        size: font size of the running text, pixels.
    """
    doubtful = [cell for frame in frames for cell in _doubtful(lines, image, frame, size)]
    if not doubtful or len(doubtful) > _MAX_CELLS:
        return lines
    stack, tops = _stacked([cell.picture for cell in doubtful], round(size))
    again = [word for line in read(stack) for word in line.words]
    result = list(lines)
    for cell, top in zip(doubtful, tops, strict=True):
        slot = [word for word in again if top <= (word.top + word.bottom) / 2 < top + cell.picture.height]
        words = [_moved(word, cell.left - _PADDING, cell.top - top) for word in slot if word.text.strip("|_")]
        if _worth(words) > _worth(cell.words):
            result = _replaced(result, cell, words)
    return tuple(result)


def _doubtful(lines: Sequence[Line], image: Image.Image, frame: Frame, size: float) -> list[_Cell]:
    words: dict[Box, list[Word]] = {}
    for word in (word for line in lines for word in line.words if frame.holds(word)):
        words.setdefault(frame.cell_of(word), []).append(word)
    found: list[_Cell] = []
    for box, area in frame.areas().items():
        inner = _inner(image, area)
        if inner is None:
            continue
        own = tuple(words.get(box, ()))
        picture = _on_white(image.crop(inner))
        if picture is None or not (_is_unsure(own, area, size) or _unread(own, picture, inner) > _MAX_UNREAD):
            continue
        tight = _tight(picture)
        if tight is not None:
            at_x, at_y = tight[0] + inner[0], tight[1] + inner[1]
            found.append(_Cell(picture.crop(tight), at_x, at_y, own, frame))
    return found


def _is_unsure(words: Sequence[Word], area: Area, size: float) -> bool:
    """A word is unsure, or reaches over two lines or into another cell, or stands upon another one."""
    for word in words:
        if word.confidence < _SURE or word.bottom - word.top > _MAX_HEIGHT * size:
            return True
        if word.left < area[0] or word.right > area[2]:
            return True
    return any(
        _overlap(one, other) > _MAX_OVERLAP for at, one in enumerate(words) for other in words[at + 1 :]
    )


def _overlap(one: Word, other: Word) -> float:
    """Shared area over that of the smaller box, 0 to 1."""
    width = min(one.right, other.right) - max(one.left, other.left)
    height = min(one.bottom, other.bottom) - max(one.top, other.top)
    if width <= 0 or height <= 0:
        return 0.0
    smaller = min((word.right - word.left) * (word.bottom - word.top) for word in (one, other))
    return width * height / max(1, smaller)


def _inner(image: Image.Image, area: Area) -> Area | None:
    """The area without its rules; None for a cell too small to hold text."""
    left, top, right, bottom = area[0] + _INSET, area[1] + _INSET, area[2] - _INSET, area[3] - _INSET
    if right - left < 2 * _MAX_TRIM or bottom - top < _MAX_TRIM:
        return None
    marks = ink(image.crop((left, top, right, bottom)))
    rows, columns = marks.mean(axis=1) > _RULE_SHARE, marks.mean(axis=0) > _RULE_SHARE
    return (
        left + _run(columns), top + _run(rows), right - _run(columns[::-1]), bottom - _run(rows[::-1])
    )  # fmt: skip


def _run(ruled: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
    """How many pixels from the edge the rule still reaches, 0 to _MAX_TRIM."""
    free = np.flatnonzero(~ruled[:_MAX_TRIM])
    return int(free[0]) if free.size else 0


def _on_white(picture: Image.Image) -> Image.Image | None:
    """Dark letters on white, whatever the ground of the cell; None without contrast."""
    values = np.asarray(picture, dtype=np.float32)
    if values.size == 0 or contrast(picture) < _MIN_CONTRAST:
        return None
    marks = ink(picture)
    ground, letters = float(np.median(values[~marks])), float(np.median(values[marks]))
    if letters > ground:
        values, ground = 255.0 - values, 255.0 - ground
    return Image.fromarray((values * (255.0 / max(ground, 32.0))).clip(0, 255).astype(np.uint8))


def _unread(words: Sequence[Word], picture: Image.Image, area: Area) -> float:
    """Share of the ink that no word covers, 0 to 1."""
    marks = ink(picture)
    total = int(marks.sum())
    for word in words:
        top, left = max(0, word.top - area[1]), max(0, word.left - area[0])
        marks[top : max(top, word.bottom - area[1]), left : max(left, word.right - area[0])] = False
    left_over = int(marks.sum())
    return left_over / total if total and left_over >= _MIN_INK else 0.0


def _tight(picture: Image.Image) -> Area | None:
    """Where the ink of the picture lies."""
    marks = ink(picture)
    if marks.sum() < _MIN_INK:
        return None
    rows, columns = np.flatnonzero(marks.any(axis=1)), np.flatnonzero(marks.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def _stacked(pictures: Sequence[Image.Image], gap: int) -> tuple[Image.Image, list[int]]:
    """The pictures one under the other, and their tops."""
    gap = max(gap, _PADDING)
    width = max(picture.width for picture in pictures) + 2 * _PADDING
    stack = Image.new("L", (width, sum(picture.height + gap for picture in pictures) + gap), 255)
    tops: list[int] = []
    y = gap
    for picture in pictures:
        stack.paste(picture, (_PADDING, y))
        tops.append(y)
        y += picture.height + gap
    return stack, tops


def _moved(word: Word, dx: int, dy: int) -> Word:
    return replace(
        word, left=word.left + dx, right=word.right + dx, top=word.top + dy, bottom=word.bottom + dy
    )


def _worth(words: Sequence[Word]) -> float:
    """Letters weighted by confidence; unsure ones count against, and so do pieces of letters already read."""
    worth = 0.0
    for at, word in enumerate(words):
        twice = any(
            _overlap(word, other) > _MAX_OVERLAP and word.letters <= other.letters
            for place, other in enumerate(words)
            if place != at
        )
        worth += word.letters * ((0.0 if twice else word.confidence) - _PASSABLE)
    return worth


def _replaced(lines: Sequence[Line], cell: _Cell, words: Sequence[Word]) -> list[Line]:
    """The words take the place of the cell's old ones.

    They go into the line of the table at their height, or become lines of their own.
    """
    old = set(cell.words)
    kept = [[word for word in line.words if word not in old] for line in lines]
    loose: list[Word] = []
    for word in words:
        beside = [
            at
            for at, line in enumerate(lines)
            if any(cell.frame.holds(other) for other in line.words) and _level(line, word)
        ]
        if beside:
            kept[beside[0]].append(word)
        else:
            loose.append(word)
    result = [
        replace(line, words=tuple(sorted(left, key=lambda word: word.left)))
        for line, left in zip(lines, kept, strict=True)
        if left
    ]
    return [*result, *(Line((word,), len(lines), -1) for word in loose)]


def _level(line: Line, word: Word) -> bool:
    middle = (word.top + word.bottom) / 2
    return line.top < middle < line.bottom
