"""Our HTML and DOCX parsers beside Docling's, on the same files with the same measures.

    python -m benchmarks.docling_side_by_side ../shared/data/parsers ../shared/data/corpus

Needs an environment with Docling (the extra `docling`). Prints Markdown for docs/parsing.md: files with
expected output against that (figures and matching are those of benchmarks.parsing_quality), files without by
how much of each route's text the other one has.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.parsing_quality.compare import Comparison, compare
from benchmarks.parsing_quality.expected import Expectation, expected_for
from benchmarks.parsing_quality.markdown_text import MarkdownText, read_markdown
from benchmarks.parsing_quality.measure import find_files
from benchmarks.parsing_quality.words import overlap, share
from ingest_svc.document import render
from ingest_svc.parsing.docling.converter import parse_with_docling
from ingest_svc.parsing.docling.options import DoclingOptions
from ingest_svc.parsing.docx import parse_docx
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.encoding import decode
from ingest_svc.parsing.file_format import FileFormat
from ingest_svc.parsing.html import declared_encoding, parse_html
from ingest_svc.parsing.limits import ParseLimits
from radref.errors import RadrefError

_FORMATS = {".html": FileFormat.HTML, ".htm": FileFormat.HTML, ".docx": FileFormat.DOCX}
_LIMITS = ParseLimits()
_OPTIONS = DoclingOptions()
Route = Callable[[bytes, FileFormat], Draft]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one route made of one file; `refused` is the reason where it made nothing."""

    text: MarkdownText
    refused: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Pair:
    """One file by both routes."""

    name: str
    file_format: FileFormat
    expectation: Expectation | None
    ours: Parsed
    docling: Parsed


def main() -> int:
    """Runs both routes; exit code 1 when there is no file to parse."""
    parser = argparse.ArgumentParser(prog="docling_side_by_side", description=__doc__)
    parser.add_argument(
        "folders", type=Path, nargs="+", help="files, with expected output beside some of them"
    )
    parser.add_argument("--keep", type=Path, help="folder for the Markdown of both routes")
    arguments = parser.parse_args()
    # Loads Docling, which would count for the first file.
    docling_route(b"<p>Ready.</p>", FileFormat.HTML)
    pairs = [pair for folder in arguments.folders for pair in _pairs(folder, arguments.keep)]
    if not pairs:
        print("no HTML or DOCX file there", file=sys.stderr)
        return 1
    print(expected_table([pair for pair in pairs if pair.expectation is not None]))
    print()
    print(agreement_table([pair for pair in pairs if pair.expectation is None]))
    return 0


def our_route(data: bytes, file_format: FileFormat) -> Draft:
    """BeautifulSoup or python-docx with our own structure."""
    if file_format is FileFormat.DOCX:
        return parse_docx(data, _LIMITS)
    return parse_html(decode(data, declared_encoding(data)).text)


def docling_route(data: bytes, file_format: FileFormat) -> Draft:
    """Docling's simple pipeline, mapped to blocks."""
    return parse_with_docling(data, file_format, _OPTIONS, _LIMITS)


def expected_table(pairs: Sequence[Pair]) -> str:
    """A row per file and route: how much of what is expected is there."""
    rows = [("file", "route", "word recall", "precision", "headings", "table cells", "s")]
    for pair in pairs:
        assert pair.expectation is not None
        for route, parsed in (("ours", pair.ours), ("Docling", pair.docling)):
            figures = _figures(compare(parsed.text, pair.expectation))
            shown = (parsed.refused, "", "", "") if parsed.refused else figures
            rows.append((pair.name, route, *shown, f"{parsed.seconds:.2f}"))
    return _table(rows)


def agreement_table(pairs: Sequence[Pair]) -> str:
    """A row per format: what each route has of the other's words, their headings and tables, their time."""
    rows = [
        (
            *(
                "format",
                "files",
                "refused (ours / Docling)",
                "Docling's words in ours",
                "our words in Docling's",
            ),
            *("headings", "tables", "seconds a file"),
        )
    ]
    for file_format in sorted({pair.file_format for pair in pairs}):
        some = [pair for pair in pairs if pair.file_format is file_format]
        both = [pair for pair in some if not pair.ours.refused and not pair.docling.refused]
        refused = f"{sum(bool(p.ours.refused) for p in some)} / {sum(bool(p.docling.refused) for p in some)}"
        rows.append(
            (
                *(file_format.value, str(len(some)), refused),
                _spread([_has(pair.ours.text, pair.docling.text) for pair in both]),
                _spread([_has(pair.docling.text, pair.ours.text) for pair in both]),
                _sums([(len(pair.ours.text.headings), len(pair.docling.text.headings)) for pair in both]),
                _sums([(len(pair.ours.text.tables), len(pair.docling.text.tables)) for pair in both]),
                " / ".join(
                    f"{statistics.mean(times):.2f}"
                    for times in ([p.ours.seconds for p in some], [p.docling.seconds for p in some])
                ),
            )
        )
    return _table(rows)


def _pairs(folder: Path, keep: Path | None) -> list[Pair]:
    pairs: list[Pair] = []
    for file in find_files(folder):
        file_format = _FORMATS.get(file.suffix.lower())
        if file_format is None:
            continue
        data = file.read_bytes()
        name = f"{folder.name}/{file.relative_to(folder).as_posix()}"
        parsed = [
            _parsed(route, data, file_format, keep / f"{name}.{label}.md" if keep else None)
            for label, route in (("ours", our_route), ("docling", docling_route))
        ]
        print(f"{name}: {parsed[0].seconds:.2f} s, {parsed[1].seconds:.2f} s", file=sys.stderr, flush=True)
        pairs.append(Pair(name, file_format, expected_for(file), *parsed))
    return pairs


def _parsed(route: Route, data: bytes, file_format: FileFormat, keep: Path | None) -> Parsed:
    start = time.monotonic()
    try:
        draft = route(data, file_format)
    except RadrefError as exc:
        return Parsed(MarkdownText((), (), ()), exc.reason, time.monotonic() - start)
    seconds = time.monotonic() - start
    markdown, _ = render(draft.blocks)
    if keep is not None:
        keep.parent.mkdir(parents=True, exist_ok=True)
        keep.write_text(f"{markdown}\n", encoding="utf-8")
    return Parsed(read_markdown(markdown), "", seconds)


def _figures(compared: Comparison) -> tuple[str, str, str, str]:
    headings = ""
    if compared.headings_expected or compared.headings_extra:
        headings = f"{compared.headings_found}/{compared.headings_expected}"
        headings += f" (+{compared.headings_extra})" if compared.headings_extra else ""
    cells = f"{compared.cells.right}/{compared.cells.expected}" if compared.cells.expected else ""
    return _share(compared.recall), _share(compared.precision), headings, cells


def _has(text: MarkdownText, other: MarkdownText) -> float:
    found = share(overlap(text.words, other.words), len(other.words))
    return 1.0 if found is None else found


def _spread(shares: Sequence[float]) -> str:
    """Median and least of several shares."""
    return f"{_share(statistics.median(shares))} (least {_share(min(shares))})" if shares else ""


def _sums(counts: Sequence[tuple[int, int]]) -> str:
    return f"{sum(ours for ours, _ in counts)} / {sum(docling for _, docling in counts)}"


def _share(value: float | None) -> str:
    # Rounded down: 0.9696 is below a bar of 0.97 and must not read as reaching it.
    return "" if value is None else f"{int(value * 1000) / 1000:.3f}"


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    rule = tuple("---" for _ in rows[0])
    return "\n".join("| " + " | ".join(row) + " |" for row in (rows[0], rule, *rows[1:]))


if __name__ == "__main__":
    sys.exit(main())
