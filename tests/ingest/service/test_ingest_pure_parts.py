"""The small parts of the ingest service, by themselves."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_svc.clients import pieces
from ingest_svc.document import Block, BlockKind, ParseReport, render
from ingest_svc.document_ids import derived_document_id
from ingest_svc.jobs.backoff import Backoff
from ingest_svc.jobs.effective_metadata import effective_language, effective_title
from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.failures import failure_of, is_transient
from ingest_svc.metadata import MAX_TITLE, check_document_id
from ingest_svc.page_tokens import document_mark, document_token, event_mark, event_token, page_size
from ingest_svc.registry.documents import DocumentMark
from ingest_svc.registry.records import ParsedContent
from ingest_svc.sections import sections_of
from ingest_svc.settings import IngestSettings
from radref.api.common.v1 import errors_pb2
from radref.errors import DeadlineExceeded, Internal, InvalidInput, Overloaded, Unavailable
from radref.service.settings import SettingsError

SHA = hashlib.sha256(b"x").hexdigest()


@pytest.mark.parametrize(
    ("file_name", "expected"),
    [
        ("Guidance (final).PDF", "guidance-final"),
        ("Приказ Минздрава № 560н — Щёлочь.docx", "prikaz-minzdrava-560n-shcheloch"),
        ("/home/user/a.b.md", "a-b"),
        ("C:\\Users\\x\\Übersicht.doc", "ubersicht"),
        ("日本語.md", "document"),
        ("...", "document"),
        ("й.md", "i"),
    ],
)
def test_ids_are_readable(file_name: str, expected: str):
    assert derived_document_id(file_name, SHA) == f"{expected}-{SHA[:12]}"


@given(st.text(min_size=1, max_size=255))
def test_ids_are_always_well_formed(file_name: str):
    made = derived_document_id(file_name, SHA)
    check_document_id(made)
    assert made == derived_document_id(file_name, SHA)


@given(st.integers(0, 10_000), st.floats(0, 1, exclude_max=True))
def test_delays_grow_to_the_cap_and_never_vanish(attempts: int, draw: float):
    backoff = Backoff(base_seconds=1.0, cap_seconds=60.0, max_attempts=5)
    delay = backoff.delay(attempts, draw)
    assert 0.5 <= delay <= 60.0
    assert backoff.delay(attempts + 1, draw) >= delay
    assert backoff.delay(attempts, draw, retry_after=90.0) == 90.0
    assert backoff.exhausted(attempts) == (attempts >= 5)


def test_what_is_tried_again():
    for error in (
        Unavailable("x"),
        Overloaded("x"),
        DeadlineExceeded("x"),
        Unavailable("x", reason="NOT_READY"),
    ):
        assert is_transient(error)
        assert failure_of(error).retryable
    timeout = DeadlineExceeded("x", reason="PARSE_TIMEOUT")
    assert not is_transient(timeout)
    assert failure_of(timeout).retryable
    assert not is_transient(Internal("x"))
    refused = failure_of(InvalidInput("x", reason="CORRUPT_FILE"))
    assert (refused.reason, refused.message, refused.retryable) == ("CORRUPT_FILE", "x", False)


def test_every_reason_used_exists_in_the_api():
    known = set(errors_pb2.ErrorReason.keys())
    for path in Path(__file__).parents[3].joinpath("ingest_svc").rglob("*.py"):
        for part in path.read_text(encoding="utf-8").split('reason="')[1:]:
            reason = part.split('"')[0]
            assert not reason or f"ERROR_REASON_{reason}" in known, (path, reason)


@given(st.text(alphabet="ab \n", max_size=200), st.integers(1, 30))
def test_pieces_keep_every_visible_character_and_the_limit(text: str, limit: int):
    ranges = list(pieces(text, limit))
    assert all(0 < end - start <= limit for start, end in ranges)
    assert all(left[1] <= right[0] for left, right in pairwise(ranges))
    kept = "".join(text[start:end] for start, end in ranges)
    assert "".join(kept.split()) == "".join(text.split())


def test_pieces_end_between_blocks():
    text = "one two\n\nthree four\n\nfive"
    assert [text[start:end] for start, end in pieces(text, 22)] == ["one two\n\nthree four", "\n\nfive"]


def test_document_tokens_survive_and_others_are_refused():
    mark = DocumentMark(datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), "a|b")
    assert document_mark(document_token(mark)) == mark
    assert event_mark(event_token(17)) == 17
    assert document_mark("") is event_mark("") is None
    assert document_token(None) == event_token(None) == ""
    for token in ("x", "é", "====", event_token(3), "ZHx4fHk=", "ZHwyMDI2LTAxLTAxfHg="):
        with pytest.raises(InvalidInput):
            document_mark(token)
    for token in (document_token(mark), "ZXwtMQ==", "ZXzCsg=="):
        with pytest.raises(InvalidInput):
            event_mark(token)


def test_page_sizes():
    assert (page_size(0), page_size(1), page_size(1000)) == (100, 1, 1000)
    with pytest.raises(InvalidInput):
        page_size(1001)


def _content(*blocks: Block, title: str = "", language: str = "") -> ParsedContent:
    return ParsedContent(blocks, title, ParseReport(language=language))


def test_titles_and_languages_are_filled_in():
    heading = Block(BlockKind.HEADING, "## **Scope** of\nthis", 2)
    assert effective_title("Given", _content(heading, title="File"), "f.md") == "Given"
    assert effective_title("", _content(heading, title=" File\n title "), "f.md") == "File title"
    assert effective_title("", _content(heading), "f.md") == "Scope of this"
    assert effective_title("", _content(), "Приказ.v2.md") == "Приказ.v2"
    assert len(effective_title("", _content(title="x" * 900), "f.md")) == MAX_TITLE
    assert effective_language("de", _content(language="ru")) == "de"
    assert effective_language("", _content(language="ru")) == "ru"
    assert effective_language("", _content()) == "und"


def test_sections_hold_every_block_once():
    blocks = (
        Block(BlockKind.PARAGRAPH, "Before.", pages=(1, 1)),
        Block(BlockKind.HEADING, "# A", 1, (1, 1)),
        Block(BlockKind.HEADING, "## B", 2, (1, 1)),
        Block(BlockKind.PARAGRAPH, "Text.", pages=(2, 3)),
        Block(BlockKind.HEADING, "# C", 1),
    )
    text, placed = render(blocks)
    sections = sections_of(placed)
    assert [section.path for section in sections] == [(), ("A",), ("A", "B"), ("C",)]
    assert [section.pages for section in sections] == [(1, 1), (1, 1), (1, 3), None]
    assert "\n\n".join(text[section.start : section.end] for section in sections) == text


async def test_watchers_hear_of_their_job_only():
    events = JobEvents()
    with events.watching("a") as first, events.watching("a") as second, events.watching("b") as other:
        events.changed("a")
        await asyncio.wait_for(asyncio.gather(first.wait(), second.wait()), 1)
        assert not other.is_set()
    events.changed("a")
    assert len(events._watchers) == 0


def test_settings_have_the_papers_sizes_and_refuse_nonsense(monkeypatch: pytest.MonkeyPatch):
    settings = IngestSettings.load()
    assert not settings.auto_approve
    assert (settings.chunking.parent_tokens, settings.chunking.child_tokens) == (1800, 512)
    assert len(settings.topics) == 8
    monkeypatch.setenv("RADREF_INGEST_CHUNKING__PARENT_TOKENS", "900")
    monkeypatch.setenv("RADREF_INGEST_TOPICS", '["safety"]')
    settings = IngestSettings.load()
    assert (settings.chunking.parent_tokens, settings.topics) == (900, ("safety",))
    monkeypatch.setenv("RADREF_INGEST_CHUNKING__PARENT_TOKEN", "900")
    with pytest.raises(SettingsError):
        IngestSettings.load()
