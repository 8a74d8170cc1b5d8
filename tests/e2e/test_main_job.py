"""Documents in, a cited and checked answer out: the real processes, the samples, the public API."""

import json
import re
import shutil

import pytest

from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2
from radref.cli.uploading import Verdict
from radref.errors import NotFound
from tests.e2e.conftest import SAMPLES, Running, ingest

pytestmark = pytest.mark.e2e

EYE_LENS = "How much may the eyes of an adult radiographer receive per year?"
UNKNOWN = "What is the parking fee for visitors of the MRI department?"


def test_every_sample_is_indexed_or_refused_with_a_reason(stack: Running) -> None:
    files = {path.name for path in SAMPLES.iterdir() if path.name != "manifest.jsonl"}
    assert {result.path.name for result in stack.results} == files
    refused = {
        result.path.name: result.reason for result in stack.results if result.verdict is not Verdict.INDEXED
    }
    if shutil.which("tesseract"):
        assert not refused
    else:
        assert list(refused) == ["safety-theatre-notice-scan.png"]
        assert refused["safety-theatre-notice-scan.png"].startswith("NO_TEXT: ")
    assert all(result.children >= 1 for result in stack.results if result.verdict is Verdict.INDEXED)


async def test_an_answer_is_quoted_word_for_word_and_its_source_resolves(stack: Running) -> None:
    async with stack.client() as client:
        answer = await client.generate(EYE_LENS)
        assert answer.outcome == answer_pb2.OUTCOME_ANSWERED
        assert "11 mSv" in " ".join(statement.text for statement in answer.statements)
        passages = {ranked.passage.citation_id: ranked.passage for ranked in answer.ranked_parents}
        for statement in answer.statements:
            assert statement.citations
            for citation in statement.citations:
                source = await client.get_source(citation.citation_id)
                assert source.passage.text[citation.start : citation.end] == citation.quote
                assert source.passage.text == passages[citation.citation_id].text
                assert source.state == documents_pb2.DOCUMENT_STATE_INDEXED
    assert answer.request_id
    assert answer.versions.embedder
    assert answer.versions.generator.startswith("extractive@")
    assert {timing.stage for timing in answer.timings} >= {"embed", "search", "parents", "gate", "generate"}


async def test_a_russian_question_is_answered_from_a_russian_document(stack: Running) -> None:
    async with stack.client() as client:
        answer = await client.generate("Какой предел дозы для хрусталика глаза у персонала?")
    assert answer.outcome == answer_pb2.OUTCOME_ANSWERED
    assert answer.statements[0].citations[0].citation_id == answer.ranked_parents[0].passage.citation_id
    assert "мЗв" in answer.statements[0].text


async def test_what_the_knowledge_base_does_not_hold_is_refused(stack: Running) -> None:
    async with stack.client() as client:
        answer = await client.generate(UNKNOWN)
    assert answer.outcome == answer_pb2.OUTCOME_ABSTAINED
    assert answer.abstention.reason == answer_pb2.ABSTENTION_REASON_INSUFFICIENT_EVIDENCE
    assert answer.abstention.message
    assert not answer.statements


async def test_search_filters_by_topic_and_language(stack: Running) -> None:
    filters = documents_pb2.SearchFilters(topics=["safety"], languages=["ru"])
    async with stack.client() as client:
        found = await client.search("предел дозы", filters=filters)
    assert found.ranked_parents
    assert {p.passage.metadata.topic for p in found.ranked_parents} == {"safety"}
    assert {p.passage.metadata.language for p in found.ranked_parents} == {"ru"}


async def test_an_unknown_citation_is_not_found(stack: Running) -> None:
    async with stack.client() as client:
        with pytest.raises(NotFound) as caught:
            await client.get_source("0" * 20)
    assert caught.value.reason == "UNKNOWN_CITATION"


async def test_uploading_again_indexes_nothing_twice(stack: Running) -> None:
    async with stack.client() as client:
        results = await ingest(client, SAMPLES)
    verdicts = {result.verdict for result in results if result.path.suffix != ".png"}
    assert verdicts == {Verdict.SKIPPED}


def test_the_command_line_shows_answer_citations_and_timings(stack: Running) -> None:
    shown = stack.cli("ask", EYE_LENS)
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"^• .*11 mSv.*\[\d\]", shown.stdout, re.MULTILINE)
    assert re.search(r"^\[1\] .*limits", shown.stdout, re.MULTILINE | re.IGNORECASE)
    assert "ms" in shown.stdout
    as_json = json.loads(stack.cli("ask", "--json", EYE_LENS).stdout)
    assert as_json["outcome"] == "OUTCOME_ANSWERED"

    refused = stack.cli("ask", UNKNOWN)
    assert refused.returncode == 0
    assert refused.stdout.startswith("No answer: insufficient evidence.")

    status = stack.cli("status")
    assert status.returncode == 0, status.stdout + status.stderr
    assert "indexed" in status.stdout


def test_source_and_search_commands(stack: Running) -> None:
    found = json.loads(stack.cli("search", "--json", EYE_LENS).stdout)
    passage = found["ranked_parents"][0]["passage"]
    shown = stack.cli("source", passage["citation_id"])
    assert shown.returncode == 0
    assert "in force" in shown.stdout
    assert passage["text"][:80] in shown.stdout
