"""Headers of more than one row, joined into the one that a Markdown table has."""

from __future__ import annotations

from collections.abc import Sequence


def joined(rows: Sequence[Sequence[str]]) -> list[str]:
    """One row: the different texts of each column from top to bottom, joined by " / "."""
    width = max((len(row) for row in rows), default=0)
    header: list[str] = []
    for column in range(width):
        parts: list[str] = []
        for row in rows:
            if column < len(row) and row[column] and row[column] not in parts:
                parts.append(row[column])
        header.append(" / ".join(parts))
    return header


def with_joined_header(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Rows whose second row names the parts of wide headings in the first, as spreadsheets export them.

    It counts as part of the header only where the first row is empty above one of its texts, its own first
    cell is empty and none of its texts is a number: "Results," over "Accuracy,Time".
    """
    result = [list(row) for row in rows]
    if len(result) < 3:
        return result
    first, second = result[0], result[1]
    under = [column for column, text in enumerate(second) if text]
    is_header = (
        bool(first and first[0])
        and bool(under)
        and under[0] > 0
        and any(column >= len(first) or not first[column] for column in under)
        and not any(has_number(second[column]) for column in under)
        and any(len(row) > under[0] and row[0] for row in result[2:3])
    )
    if not is_header:
        return result
    spread = list(first) + [""] * (len(second) - len(first))
    for column in under:
        if not spread[column]:
            spread[column] = spread[column - 1]
    return [joined([spread, second]), *result[2:]]


def has_number(text: str) -> bool:
    """The text begins like a number: "12", "-0,5 mSv", "34 %"."""
    return text.lstrip("-+−<>≤≥≈~ ")[:1].isdigit()
