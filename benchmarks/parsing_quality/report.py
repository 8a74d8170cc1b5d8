"""The results as a Markdown table, and that table inside a document."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.parsing_quality.measure import FileResult

BEGIN = "<!-- parsing-quality:begin -->"
END = "<!-- parsing-quality:end -->"
_HEAD = ("file", "parser", "word recall", "precision", "headings", "table cells", "s", "verdict")


def markdown_table(results: Sequence[FileResult]) -> str:
    """A pipe table, a row per file."""
    rows = [_HEAD, tuple("---" for _ in _HEAD), *(_row(result) for result in results)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def replaced(document: str, table: str) -> str:
    """`document` with `table` between its two markers.

    Raises:
        ValueError: the document has no pair of markers.
    """
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.S)
    if pattern.search(document) is None:
        raise ValueError(f"the document lacks the markers {BEGIN} and {END}")
    return pattern.sub(lambda _: f"{BEGIN}\n{table}\n{END}", document, count=1)


def summary(results: Sequence[FileResult]) -> str:
    """One line: how many files were read, refused, compared, and how many of these are good."""
    refused = sum(bool(result.reading.refused) for result in results)
    compared = [result for result in results if result.compared is not None]
    good = sum(result.verdict() == "good" for result in compared)
    return (
        f"{len(results)} files: {len(results) - refused} read, {refused} refused; "
        f"{good} of {len(compared)} with expected output are good"
    )


def _row(result: FileResult) -> tuple[str, ...]:
    seconds = f"{result.reading.seconds:.1f}"
    compared = result.compared
    if compared is None:
        return (result.name, result.reading.parser or "-", "", "", "", "", seconds, result.verdict())
    recall = _figure(compared.recall)
    if compared.recall_whole is not None and compared.recall_whole != compared.recall:
        recall += f" ({_figure(compared.recall_whole)} with page chrome)"
    headings = ""
    if compared.headings_expected or compared.headings_extra:
        headings = f"{compared.headings_found}/{compared.headings_expected}"
        headings += f" (+{compared.headings_extra})" if compared.headings_extra else ""
    cells = f"{compared.cells.right}/{compared.cells.expected}" if compared.cells.expected else ""
    if not cells and compared.cells.tables_found:
        cells = f"(+{compared.cells.tables_found} tables)"
    return (
        result.name,
        result.reading.parser,
        recall,
        _figure(compared.precision),
        headings,
        cells,
        seconds,
        result.verdict(),
    )


def _figure(value: float | None) -> str:
    # Rounded down: 0.9696 is below a bar of 0.97 and must not read as reaching it.
    return "" if value is None else f"{int(value * 1000) / 1000:.3f}"
