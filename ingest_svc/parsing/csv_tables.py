"""Separated values to pipe tables."""

from __future__ import annotations

import csv
from collections import Counter

from ingest_svc.document import Block
from ingest_svc.parsing.blocks import paragraph, table
from ingest_svc.parsing.csv_dialect import find_dialect, rows
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.table_headers import with_joined_header
from radref.errors import InvalidInput


def parse_csv(text: str) -> Draft:
    """Blocks of a CSV text: a title above the table as a paragraph, then the table.

    Values stand as they are written; nothing is taken for a number or a date. Short rows are filled with
    empty values and reported.

    Raises:
        InvalidInput: CORRUPT_FILE, when one value is longer than a table cell can be (131,072 characters).
    """
    dialect = find_dialect(text)
    try:
        found = [row for row in rows(text, dialect) if any(row)]
    except csv.Error:
        raise InvalidInput(
            "One value of the table is longer than 131072 characters. Check the quotes of the file.",
            reason="CORRUPT_FILE",
        ) from None
    warnings = [] if dialect.quoted else ["A quotation mark is never closed; quotes were read as text."]
    usual = _usual_width(found)
    blocks: list[Block] = []
    body = found
    while usual > 1 and body and sum(map(bool, body[0])) == 1 and body[0][0] and len(body) > 1:
        # A line with nothing but its first value, above the table: its title.
        if len(body[0]) >= usual and not _is_title(body):
            break
        blocks.append(paragraph(body[0][0]))
        body = body[1:]
    ragged = sum(len(_stripped(row)) > usual or len(row) < usual for row in body)
    if ragged:
        warnings.append(
            f"{ragged} of {len(body)} rows have another number of values than the others ({usual})."
        )
    made = table(with_joined_header(body))
    if made is not None:
        blocks.append(made)
    return Draft(tuple(blocks), "csv", warnings=tuple(warnings))


def _usual_width(found: list[list[str]]) -> int:
    counts = Counter(len(row) for row in found)
    return max(counts, key=lambda width: (counts[width], width)) if counts else 0


def _stripped(row: list[str]) -> list[str]:
    end = len(row)
    while end and not row[end - 1]:
        end -= 1
    return row[:end]


def _is_title(body: list[list[str]]) -> bool:
    """Exports pad the title row with separators: the row below it names the columns."""
    return sum(map(bool, body[1])) >= max(2, (len(body[1]) + 1) // 2)
