"""Which character separates the values of a text, told by the text itself."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

# In this order two equally good candidates are decided: commas also stand in decimals and prose.
DELIMITERS = ("\t", ";", "|", ",")
# Rows that are looked at; a table shows its shape early.
_SAMPLE_ROWS = 200
# Share of the rows that must have the usual number of values: real exports have some ragged ones.
_MIN_STEADY = 0.6
# Excel's own mark of the separator, the first line of the file.
_DECLARED = re.compile(r"\Asep=(.)\r?\n", re.I)
_SENTENCE_END = re.compile(r"[^\W\d_]{2}[.!?;:]$")
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
        escaped: a quote inside a value is written \\" (databases export so) and not "".
    """

    delimiter: str
    quoted: bool = True
    skip: int = 0
    escaped: bool = False


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
        doublequote=not dialect.escaped,
        escapechar="\\" if dialect.escaped else None,
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
    if '\\"' in text and '""' not in text and not _reads_strictly(text, dialect):
        escaped = replace(dialect, escaped=True)
        dialect = escaped if _reads_strictly(text, escaped) else dialect
    return dialect if _quotes_close(text, dialect) else replace(dialect, quoted=False)


def looks_delimited(text: str) -> bool:
    """At least four rows, all of the same three or more values: no prose looks so.

    Pipes do not count here: in running text they are a Markdown table.
    """
    for delimiter in ("\t", ";", ","):
        found = [row for row in _sample(text, Dialect(delimiter)) if any(row)]
        if len(found) >= 4 and len(found[0]) >= 3 and len({len(row) for row in found}) == 1:
            return not _is_prose(found)
    return False


def _is_prose(found: list[list[str]]) -> bool:
    """Lines that end like sentences, most of them: a poem, or one sentence a line."""
    return 2 * sum(_SENTENCE_END.search(row[-1]) is not None for row in found) > len(found)


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


def _reads_strictly(text: str, dialect: Dialect) -> bool:
    try:
        for _ in rows(text, dialect, strict=True):
            pass
    except csv.Error:
        return False
    return True


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
