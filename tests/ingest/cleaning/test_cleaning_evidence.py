"""Evidence of the development questions must survive parsing and cleaning."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from ingest_svc.cleaning.clean import clean
from ingest_svc.document import render
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.worker import ParserPool

DATA = Path(__file__).parents[3].parent / "shared" / "data"
READ_HERE = (".md", ".html", ".docx", ".pdf", ".txt")


def normal(text: str) -> str:
    """White space and soft hyphens as the question set is normalised; cell borders count as white space."""
    text = re.sub(r"^\|(?: --- \|)+$", " ", text, flags=re.M)
    return " ".join(re.sub(r"(?<!\\)\|", " ", text.replace("\u00ad", "")).split())


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "qa" / "qa_dev.jsonl").is_file(), reason=f"shared data not found at {DATA}")
async def test_gold_quotes_survive() -> None:
    lines = (DATA / "corpus" / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    files = {entry["doc_id"]: entry["file"] for entry in map(json.loads, lines)}
    questions = map(json.loads, (DATA / "qa" / "qa_dev.jsonl").read_text(encoding="utf-8").splitlines())
    quotes = [
        (question["gold_doc"], quote)
        for question in questions
        for quote in question.get("gold_quotes") or ()
        if files[question["gold_doc"]].endswith(READ_HERE)
    ]
    # The largest first: one PDF takes as long as all the others.
    paths = {doc_id: DATA / "corpus" / files[doc_id] for doc_id, _ in quotes}
    order = sorted(paths, key=lambda doc_id: (paths[doc_id].suffix != ".pdf", doc_id))
    pool = ParserPool(ParseLimits(timeout_seconds=600.0), workers=2)
    try:
        parsed = await asyncio.gather(
            *(pool.parse(paths[doc_id].read_bytes(), paths[doc_id].name) for doc_id in order)
        )
    finally:
        await pool.close()
    texts = {
        doc_id: normal(render(clean(document).blocks)[0])
        for doc_id, document in zip(order, parsed, strict=True)
    }
    lost = [doc_id for doc_id, quote in quotes if normal(quote) not in texts[doc_id]]
    assert quotes
    assert len(lost) <= 0.03 * len(quotes), (
        f"{len(lost)} of {len(quotes)} quotes lost, in {sorted(set(lost))}"
    )
