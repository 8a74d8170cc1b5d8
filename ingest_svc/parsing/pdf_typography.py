"""How a PDF sets its running text: size, leading, fonts, margins."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ingest_svc.parsing.pdf_model import PdfLine

_MIN_REGION = 4


@dataclass(frozen=True, slots=True)
class Typography:
    """Of one document.

    Attributes:
        size: font size of the running text, points.
        width: width of a full line, points.
        leading: distance of two lines, points.
        fonts: share of the characters in each font, 0 to 1.
        right: right margin of each region (page, column), points.
        regular: the running text is not bold.
    """

    size: float
    width: float
    leading: float
    fonts: dict[str, float]
    right: dict[tuple[int, int], float]
    regular: bool

    def right_margin(self, lines: Sequence[PdfLine]) -> float:
        """Where full lines of the region of the last of `lines` end, points."""
        last = lines[-1]
        known = self.right.get((last.page, last.column))
        # Lines of a paragraph that stand in the column before it have another margin.
        own = [line for line in lines if (line.page, line.column) == (last.page, last.column)]
        least = max(line.x1 for line in own)
        return (
            max(known, least) if known is not None else max(least, min(line.x0 for line in own) + self.width)
        )


def typography(lines: Sequence[PdfLine]) -> Typography:
    """Measures lines in reading order; there must be one."""
    sizes: Counter[float] = Counter()
    fonts: Counter[str] = Counter()
    bold = 0
    for line in lines:
        sizes[line.size] += len(line.text)
        fonts[line.font] += len(line.text)
        bold += len(line.text) * line.bold
    size = sizes.most_common(1)[0][0]
    widths = sorted(line.x1 - line.x0 for line in lines if line.size == size)
    steps = sorted(
        after.bottom - before.bottom
        for before, after in itertools.pairwise(lines)
        if before.page == after.page
        and before.column == after.column
        and 0 < after.bottom - before.bottom < 4 * size
    )
    total = max(1, sum(fonts.values()))
    ends: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    for line in lines:
        ends[line.page, line.column].append(line.x1)
    return Typography(
        size,
        widths[int(0.9 * (len(widths) - 1))],
        steps[len(steps) // 3] if steps else 1.2 * size,
        {font: count / total for font, count in fonts.items()},
        {
            region: sorted(found)[int(0.9 * (len(found) - 1))]
            for region, found in ends.items()
            if len(found) >= _MIN_REGION
        },
        2 * bold < total,
    )
