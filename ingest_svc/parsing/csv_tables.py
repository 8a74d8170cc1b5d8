"""Separated values to pipe tables."""

from __future__ import annotations

import csv
import itertools
from collections import Counter

from ingest_svc.document import Block
from ingest_svc.parsing.blocks import paragraph, table
from ingest_svc.parsing.csv_dialect import find_dialect, rows
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.table_headers import has_number, with_joined_header
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
        tables = _tables(list(rows(text, dialect)))
    except csv.Error:
        raise InvalidInput(
            "One value of the table is longer than 131072 characters. Check the quotes of the file.",
            reason="CORRUPT_FILE",
        ) from None
    warnings = [] if dialect.quoted else ["A quotation mark is never closed; quotes were read as text."]
    blocks: list[Block] = []
    for body in tables:
        found, warning = _table_blocks(body)
        blocks.extend(found)
        warnings.extend([warning] if warning else [])
    return Draft(tuple(blocks), "csv", warnings=tuple(warnings))


def _table_blocks(found: list[list[str]]) -> tuple[list[Block], str]:
    """Titles and table of one run of rows, and a warning where rows differ in width."""
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
    warning = (
        f"{ragged} of {len(body)} rows have another number of values than the others ({usual})."
        if ragged
        else ""
    )
    made = table(with_joined_header(body))
    return [*blocks, *([made] if made is not None else [])], warning


def _tables(found: list[list[str]]) -> list[list[list[str]]]:
    """The tables of a file; a blank row parts two only where the lower one shows a header of its own."""
    tables: list[list[list[str]]] = []
    for filled, group in itertools.groupby(found, key=any):
        part = list(group)
        if not filled:
            continue
        if tables and not (_has_header(tables[-1]) and _has_header(part)):
            tables[-1].extend(part)
        else:
            tables.append(part)
    return tables


def _has_header(part: list[list[str]]) -> bool:
    """Below titles, a first row of texts only, then one with a number."""
    body = [row for row in part if sum(map(bool, row)) > 1]
    return (
        len(body) > 1
        and not any(has_number(value) for value in body[0])
        and any(has_number(value) for row in body[1:] for value in row)
    )


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
