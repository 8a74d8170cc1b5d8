"""What the export writes: JSON lines, one file a kind."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evaluation.results import write_text
from radref.errors import InvalidInput

DOCUMENTS = "documents.jsonl"
PARENTS = "parents.jsonl"
RESULTS = "results.jsonl"
META = "meta.json"


@dataclass(frozen=True)
class Document:
    """A document as radref parsed and cleaned it; `markdown` is not empty."""

    document_id: str
    title: str
    topic: str
    language: str
    markdown: str


@dataclass(frozen=True)
class Parent:
    """A passage of radref's index.

    `children` are [start, end) in code points of `text`, in the order of the text.
    """

    citation_id: str
    document_id: str
    ordinal: int
    text: str
    children: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Result:
    """What radref found for a question: citation ids, best first."""

    question_id: str
    citation_ids: tuple[str, ...]


@dataclass(frozen=True)
class Export:
    """A folder that the export wrote. `meta` holds versions and counts."""

    documents: tuple[Document, ...]
    parents: tuple[Parent, ...]
    results: tuple[Result, ...]
    meta: dict[str, Any]


def write_export(folder: Path, export: Export) -> None:
    """Writes the files of an export; `meta.json` comes last, so a folder that has it is whole.

    Raises:
        InvalidInput: the place cannot be written.
    """
    (folder / META).unlink(missing_ok=True)
    for name, rows in ((DOCUMENTS, export.documents), (PARENTS, export.parents), (RESULTS, export.results)):
        write_text(folder / name, _lines(rows))
    write_text(folder / META, json.dumps(export.meta, ensure_ascii=False, indent=2) + "\n")


def read_export(folder: Path) -> Export:
    """Reads what `write_export` wrote.

    Raises:
        InvalidInput: a file is missing, a line is not of the form above, or nothing was exported. The
            message names file and line.
    """
    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{folder} holds no finished export: {error}", field="export") from error
    documents = tuple(Document(**row) for row in _rows(folder / DOCUMENTS, set(Document.__annotations__)))
    parents = tuple(
        Parent(**{**row, "children": tuple((int(start), int(end)) for start, end in row["children"])})
        for row in _rows(folder / PARENTS, set(Parent.__annotations__))
    )
    results = tuple(
        Result(row["question_id"], tuple(row["citation_ids"]))
        for row in _rows(folder / RESULTS, set(Result.__annotations__))
    )
    if not documents or not parents:
        raise InvalidInput(f"The export in {folder} holds no document", field="export")
    return Export(documents, parents, results, meta)


def _lines(rows: Iterable[Document | Parent | Result]) -> str:
    return "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)


def _rows(path: Path, fields: set[str]) -> list[dict[str, Any]]:
    try:
        # Not splitlines(): texts may hold U+2028 and the like, which JSON leaves as they are.
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"Cannot read {path}: {error}", field="export") from error
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"{path.name}, line {number}: {error}", field="export") from error
        if not isinstance(row, dict) or row.keys() != fields:
            raise InvalidInput(
                f"{path.name}, line {number}: expected the fields {', '.join(sorted(fields))}", field="export"
            )
        rows.append(row)
    return rows
