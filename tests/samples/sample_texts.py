"""The sample files and their parsed text, each parsed once a run."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from ingest_svc.document import ParsedDocument, render
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
DOCUMENTS = SAMPLES / "documents"


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Objects of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@cache
def parsed(file: str) -> ParsedDocument:
    return parse_file((DOCUMENTS / file).read_bytes(), file, ParseLimits())


def text_of(file: str) -> str:
    return render(parsed(file).blocks)[0]
