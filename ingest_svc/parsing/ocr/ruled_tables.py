"""Tables whose cells are drawn with rules: words go into the cell they stand in, of however many lines."""

from __future__ import annotations

from collections.abc import Sequence

from ingest_svc.cleaning.hyphens import join_lines
from ingest_svc.parsing.ocr.aligned_tables import FoundTable
from ingest_svc.parsing.ocr.cells import rows_of
from ingest_svc.parsing.ocr.engine import Word
from ingest_svc.parsing.ocr.frames import Box, Frame

# Columns ruled, rows not: more lines of text than this a ruled row belong to rows without rules.
_MAX_LINES_OF_TWO_ROWS = 3
_FRAME_SIGNS = frozenset("|[]{}_—–-~=¦!")


def ruled_tables(
    words: Sequence[Word], frames: Sequence[Frame], size: float, vocabulary: frozenset[str]
) -> list[FoundTable]:
    """Tables with at least two rows and two columns that are separated by rules.

    A cell over several rows or columns repeats its text in each, so that every row can be read by itself.

    Args:
        words: words of the page.
        frames: the grids drawn on it.
        size: font size of the running text, pixels.
        vocabulary: words of the page, for hyphens at line ends.
    """
    made = (_table(words, frame, size, vocabulary) for frame in frames)
    return [found for found in made if found is not None]


def _table(words: Sequence[Word], frame: Frame, size: float, vocabulary: frozenset[str]) -> FoundTable | None:
    inside = [word for word in words if frame.holds(word)]
    if frame.rows == 2 and len(rows_of(inside, size)) > _MAX_LINES_OF_TWO_ROWS * frame.rows:
        return None
    groups: dict[Box, list[Word]] = {}
    for word in inside:
        groups.setdefault(frame.cell_of(word), []).append(word)
    grid = [[frame.owners[(row, column)] for column in range(frame.columns)] for row in range(frame.rows)]
    if sum(len(set(owners) & groups.keys()) >= 2 for owners in grid) < 2:
        return None
    texts = {owner: _text(group, size, vocabulary) for owner, group in groups.items()}
    rows = tuple(tuple(texts.get(owner, "") for owner in owners) for owners in grid)
    return FoundTable(rows, frozenset(inside))


def _text(words: Sequence[Word], size: float, vocabulary: frozenset[str]) -> str:
    text = ""
    for row in rows_of(words, size):
        line = [word for cell in row.cells for word in cell.words]
        # Pieces of the frame stand at the ends of a line.
        while line and set(line[0].text) <= _FRAME_SIGNS and len(line) > 1:
            line.pop(0)
        while line and set(line[-1].text) <= _FRAME_SIGNS and len(line) > 1:
            line.pop()
        text = join_lines(text, " ".join(word.text for word in line), vocabulary)
    return text
