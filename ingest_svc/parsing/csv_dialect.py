"""Which character separates the values of a text, told by the text itself."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

# In this order two equally good candidates are decided: commas also stand in decimals and prose.
DELIMITERS = ("\t", ";", "|", ",")
# Rows that are looked at; a table shows its shape early.
_SAMPLE_ROWS = 200
# Share of the rows that must have the usual number of values: real exports have some ragged ones.
_MIN_STEADY = 0.6
# Excel's own mark of the separator, the first line of the file.
_DECLARED = re.compile(r"\Asep=(.)\r?\n", re.I)
# Stand in no text file: unit and record separator (control characters, refused as unreadable in quantity).
_NO_DELIMITER = "\x1f"
_END_ROW = "\x1eend"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How values are written.

    Attributes:
        delimiter: one of `DELIMITERS`, or what a first line "sep=" names; "" for one value a line.
        quoted: double quotes enclose values; False when a quote is never closed.
        skip: code points before the first row.
    """

    delimiter: str
    quoted: bool = True
    skip: int = 0


def rows(text: str, dialect: Dialect, *, strict: bool = False) -> Iterator[list[str]]:
    """The rows of a text, without the blanks around values.

    Args:
        text: the text.
        dialect: how it is written.
        strict: text after a closing quote is an error.

    Raises:
        csv.Error: a value is longer than csv.field_size_limit(), or what `strict` says.
    """
    reader = csv.reader(
        io.StringIO(text[dialect.skip :], newline=""),
        delimiter=dialect.delimiter or _NO_DELIMITER,
        quoting=csv.QUOTE_MINIMAL if dialect.quoted else csv.QUOTE_NONE,
        skipinitialspace=True,
        strict=strict,
    )
    for row in reader:
        yield [value.strip() for value in row]


def find_dialect(text: str) -> Dialect:
    """The dialect of a text that is known to hold separated values."""
    declared = _DECLARED.match(text)
    if declared:
        dialect = Dialect(declared.group(1), skip=declared.end())
    else:
        best = max(
            (Dialect(delimiter) for delimiter in DELIMITERS),
            key=lambda candidate: _fitness(text, candidate),
        )
        dialect = best if _fitness(text, best)[2] >= 2 else Dialect("")
    return dialect if _quotes_close(text, dialect) else Dialect(dialect.delimiter, False, dialect.skip)


def looks_delimited(text: str) -> bool:
    """At least four rows, all of the same three or more values: no prose looks so.

    Pipes do not count here: in running text they are a Markdown table.
    """
    for delimiter in ("\t", ";", ","):
        widths = [len(row) for row in _sample(text, Dialect(delimiter)) if any(row)]
        if len(widths) >= 4 and widths[0] >= 3 and len(set(widths)) == 1:
            return True
    return False


def _fitness(text: str, dialect: Dialect) -> tuple[bool, float, int]:
    """Whether quotes stand at separators only, the share of rows with the usual number of values (in steps of
    a tenth), and that number."""
    sample = _sample(text, dialect)
    widths = Counter(len(row) for row in sample if any(row))
    if not widths:
        return False, 0.0, 0
    width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
    steady = round(count / widths.total(), 1)
    if width < 2 or steady < _MIN_STEADY:
        return False, 0.0, width
    return len(_sample(text, dialect, strict=True)) == len(sample), steady, width


def _sample(text: str, dialect: Dialect, *, strict: bool = False) -> list[list[str]]:
    found: list[list[str]] = []
    try:
        for row in rows(text, dialect, strict=strict):
            found.append(row)
            if len(found) == _SAMPLE_ROWS:
                break
    except csv.Error:
        # An unclosed quote swallows the rest; the rows before it still tell.
        return found
    return found


def _quotes_close(text: str, dialect: Dialect) -> bool:
    """A row put behind the text comes back as a row, unless an open quote swallows it."""
    if '"' not in text:
        return True
    last: list[str] = []
    try:
        for row in rows(f"{text}\n{_END_ROW}", dialect):
            last = row
    except csv.Error:
        return False
    # The record separator counts as white space and is stripped with it.
    return last == [_END_ROW.strip()]
