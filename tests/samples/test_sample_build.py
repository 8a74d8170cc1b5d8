"""The generated samples say what their sources say, and questions.jsonl what qa.jsonl says."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest_svc.document import render
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file
from samples.build.derive_questions import derive
from tests.samples.sample_texts import DOCUMENTS, SAMPLES, read_lines, text_of

FILES = [entry["file"] for entry in read_lines(DOCUMENTS / "manifest.jsonl")]
GENERATED = [file for file in FILES if Path(file).suffix in {".docx", ".pdf", ".png"}]


def test_questions_are_derived_from_qa() -> None:
    qa = (SAMPLES / "qa.jsonl").read_text(encoding="utf-8")
    assert (SAMPLES / "questions.jsonl").read_text(encoding="utf-8") == derive(qa)


def test_short_form_has_its_fields() -> None:
    for question in read_lines(SAMPLES / "questions.jsonl"):
        common = {"id", "language", "query", "expect"}
        own = {"why"} if question["expect"] == "abstain" else {"document", "quotes", "facts"}
        assert set(question) == common | own


def test_every_source_has_its_document() -> None:
    sources = sorted(path.stem for path in (SAMPLES / "build" / "sources").glob("*.md"))
    assert sorted(Path(file).stem for file in GENERATED) == sources


def build(file: str) -> bytes:
    """The document, made again from its source."""
    pytest.importorskip("reportlab", reason="pip install -r samples/build/requirements.txt")
    from samples.build import build_documents

    if not (build_documents.DEBIAN_FONTS / "DejaVuSans-Bold.ttf").is_file():
        pytest.skip("DejaVu fonts are not installed (Debian: fonts-dejavu-core)")
    samples = build_documents.read_manifest(DOCUMENTS / "manifest.jsonl")
    sample = next(sample for sample in samples if sample.file == file)
    return build_documents.build(sample, build_documents.DEBIAN_FONTS)


@pytest.mark.parametrize("file", [file for file in GENERATED if not file.endswith(".png")])
def test_committed_document_is_what_its_source_makes(file: str) -> None:
    # Text, not bytes: other versions of reportlab, python-docx or the fonts write other bytes.
    document = parse_file(build(file), file, ParseLimits())
    assert render(document.blocks)[0] == text_of(file)


@pytest.mark.parametrize(
    "file", ["template-ct-chest.docx", "safety-spill-procedure-2021.pdf", "safety-theatre-notice-scan.png"]
)
def test_build_is_deterministic(file: str) -> None:
    assert build(file) == build(file)
