"""IngestService over real gRPC with the kit's interceptors."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ingest_svc.registry import watched_files
from ingest_svc.registry.watched_files import WatchedFile
from ingest_svc.service import IngestServicer
from radref.api.common.v1 import documents_pb2, errors_pb2
from radref.api.ingest.v1 import ingest_pb2 as pb
from radref.errors import RadrefError
from radref.service.actor import ACTOR_HEADER
from tests.ingest.service.ingest_client import NOTE, TEXT, Client, Upkeep, submission
from tests.ingest.service.ingest_stack import Stack


async def test_from_upload_to_passage(client: Client, stack: Stack):
    submitted = await client.call("SubmitDocument", submission(NOTE))
    jobs = await client.watch(submitted.job_id)
    assert [job.stage for job in jobs] == sorted(job.stage for job in jobs)
    last = jobs[-1]
    assert (last.stage, last.state) == (pb.JOB_STAGE_DONE, documents_pb2.DOCUMENT_STATE_INDEXED)
    assert not last.HasField("failure")
    assert await client.watch(submitted.job_id) == [last], "an ended job is shown once"

    got = await client.call("GetDocument", pb.GetDocumentRequest(document_id=submitted.document_id))
    assert got.markdown == TEXT
    assert got.document.metadata.title == "Щитовидная железа"
    assert got.document.active_version == 1
    assert len(got.document.sha256) == 64
    spans = [got.markdown[item.span.start : item.span.end] for item in got.report.sections]
    assert "\n\n".join(spans) == got.markdown
    assert list(got.report.sections[1].section_path) == ["Щитовидная железа", "Проверка"]

    _, parents, _ = stack.index.staged[submitted.document_id, 1]
    passage = await client.call("GetPassage", pb.GetPassageRequest(citation_id=parents[0].citation_id))
    assert passage.passage.text == parents[0].text
    assert not passage.HasField("ended_at")

    done = await client.call(
        "WithdrawDocument",
        pb.WithdrawDocumentRequest(document_id=submitted.document_id, reason="old"),
    )
    assert done.previous_version == 1
    passage = await client.call("GetPassage", pb.GetPassageRequest(citation_id=parents[0].citation_id))
    assert passage.state == documents_pb2.DOCUMENT_STATE_WITHDRAWN
    assert passage.HasField("ended_at")
    events = await client.call("ListAuditEvents", pb.ListAuditEventsRequest())
    assert (events.events[0].action, events.events[0].reason, events.events[0].actor) == (
        "withdrawn",
        "old",
        "local",
    )


async def test_lists_come_in_pages(client: Client):
    ids = []
    for number in range(5):
        topic = "physics" if number == 4 else "safety"
        metadata = documents_pb2.DocumentMetadata(topic=topic)
        ids.append((await client.indexed(f"Text {number}.".encode(), metadata=metadata)).document_id)
    seen, token, pages = [], "", 0
    while True:
        page = await client.call("ListDocuments", pb.ListDocumentsRequest(page_size=2, page_token=token))
        assert page.total == 5
        seen += [item.document_id for item in page.documents]
        pages, token = pages + 1, page.next_page_token
        if not token:
            break
    assert (seen, pages) == (ids[::-1], 3)
    only = await client.call("ListDocuments", pb.ListDocumentsRequest(topics=["physics"]))
    assert [item.document_id for item in only.documents] == [ids[4]]
    failed = [documents_pb2.DOCUMENT_STATE_FAILED]
    none = await client.call("ListDocuments", pb.ListDocumentsRequest(states=failed))
    assert (none.total, none.next_page_token) == (0, "")

    events, token = [], ""
    while True:
        page = await client.call(
            "ListAuditEvents",
            pb.ListAuditEventsRequest(document_id=ids[0], page_size=3, page_token=token),
        )
        events += [event.action for event in page.events]
        token = page.next_page_token
        if not token:
            break
    assert events == ["indexed", "approved", "parsed", "submitted"]


async def test_versions_are_listed_oldest_first(client: Client):
    first = await client.indexed()
    withdrawal = pb.WithdrawDocumentRequest(document_id=first.document_id, reason="r")
    await client.call("WithdrawDocument", withdrawal)
    await client.indexed()
    request = pb.ListVersionsRequest(document_id=first.document_id)
    versions = (await client.call("ListVersions", request)).versions
    assert [item.version for item in versions] == [1, 2]
    assert {item.active_version for item in versions} == {2}
    old = await client.call("GetDocument", pb.GetDocumentRequest(document_id=first.document_id, version=1))
    assert old.document.state == documents_pb2.DOCUMENT_STATE_WITHDRAWN


async def test_parsing_keeps_nothing(client: Client, stack: Stack):
    parsed = await client.call("ParseDocument", submission(NOTE, pb.ParseDocumentRequest, metadata=None))
    assert parsed.markdown == TEXT
    assert parsed.report.sections
    assert (await client.call("ListDocuments", pb.ListDocumentsRequest())).total == 0
    assert [path for path in stack.blobs._root.rglob("*") if path.is_file()] == []


async def test_a_failed_job_says_why(client: Client):
    submitted = await client.call("SubmitDocument", submission(b" \n"))
    last = (await client.watch(submitted.job_id))[-1]
    assert last.failure.reason == errors_pb2.ERROR_REASON_NO_TEXT
    got = await client.call("GetDocument", pb.GetDocumentRequest(document_id=submitted.document_id))
    assert got.document.failure == last.failure
    assert (got.markdown, got.HasField("report")) == ("", False)
    retried = await client.call("RetryJob", pb.RetryJobRequest(job_id=submitted.job_id))
    assert retried.job.stage == pb.JOB_STAGE_QUEUED
    assert (await client.watch(submitted.job_id))[-1].failure == last.failure


@pytest.mark.parametrize(
    ("method", "request_", "reason"),
    [
        ("GetDocument", pb.GetDocumentRequest(document_id="none"), "UNKNOWN_DOCUMENT"),
        ("GetPassage", pb.GetPassageRequest(citation_id="0" * 20), "UNKNOWN_CITATION"),
        ("RetryJob", pb.RetryJobRequest(job_id="none"), "UNKNOWN_JOB"),
        ("ListVersions", pb.ListVersionsRequest(document_id="none"), "UNKNOWN_DOCUMENT"),
        ("ListDocuments", pb.ListDocumentsRequest(page_size=1001), "OUT_OF_RANGE"),
        ("ListDocuments", pb.ListDocumentsRequest(page_token="garbage"), "INVALID_FIELD"),
        ("ListDocuments", pb.ListDocumentsRequest(topics=["cooking"]), "UNKNOWN_TOPIC"),
        ("ListDocuments", pb.ListDocumentsRequest(states=[0]), "INVALID_FIELD"),
        ("ListAuditEvents", pb.ListAuditEventsRequest(page_token="ZHw="), "INVALID_FIELD"),
        ("WithdrawDocument", pb.WithdrawDocumentRequest(document_id="none", reason="r"), "UNKNOWN_DOCUMENT"),
    ],
)
async def test_refusals_name_their_reason(client: Client, method: str, request_: Any, reason: str):
    with pytest.raises(RadrefError) as caught:
        await client.call(method, request_)
    assert caught.value.reason == reason


async def test_unknown_versions_and_jobs(client: Client):
    submitted = await client.indexed()
    with pytest.raises(RadrefError) as caught:
        await client.call("GetDocument", pb.GetDocumentRequest(document_id=submitted.document_id, version=7))
    assert caught.value.reason == "UNKNOWN_VERSION"
    with pytest.raises(RadrefError) as caught:
        await client.watch("none")
    assert caught.value.reason == "UNKNOWN_JOB"


async def test_times_out_of_range_are_refused(client: Client):
    metadata = documents_pb2.DocumentMetadata(topic="safety")
    metadata.effective_from.seconds = 10**15
    with pytest.raises(RadrefError) as caught:
        await client.call("SubmitDocument", submission(NOTE, metadata=metadata))
    assert (caught.value.reason, caught.value.field) == ("OUT_OF_RANGE", "header.metadata.effective_from")


async def test_metadata_comes_back_as_given(client: Client):
    metadata = documents_pb2.DocumentMetadata(
        title="T",
        topic="safety",
        language="ru",
        source_category="legal-act",
        source="s",
        licence="l",
        year=2024,
        authority="a",
        supersedes=["old-law"],
    )
    metadata.effective_from.FromJsonString("2024-03-01T00:00:00Z")
    metadata.effective_until.FromJsonString("2030-03-01T00:00:00Z")
    submitted = await client.indexed(metadata=metadata)
    got = await client.call("GetDocument", pb.GetDocumentRequest(document_id=submitted.document_id))
    assert got.document.metadata == metadata


async def test_replacement_difference_and_rollback(client: Client, stack: Stack):
    first = await client.indexed(document_id="collars")
    cited = stack.index.staged["collars", 1][1][0].citation_id
    header = {"document_id": "collars", "metadata": documents_pb2.DocumentMetadata(year=2026)}
    changed = TEXT.replace("Раз в год", "Дважды в год").encode()
    answer = await client.call(
        "ReplaceDocument", submission(changed, pb.ReplaceDocumentRequest, **header), actor="bob"
    )
    assert (answer.version, answer.duplicate) == (2, False)
    assert (await client.watch(answer.job_id))[-1].stage == pb.JOB_STAGE_DONE
    again = await client.call("ReplaceDocument", submission(changed, pb.ReplaceDocumentRequest, **header))
    assert (again.version, again.duplicate, again.job_id) == (2, True, "")

    listed = await client.call("ListVersions", pb.ListVersionsRequest(document_id="collars"))
    old, new = listed.versions
    assert (old.state, new.state) == (
        documents_pb2.DOCUMENT_STATE_SUPERSEDED,
        documents_pb2.DOCUMENT_STATE_INDEXED,
    )
    assert (old.HasField("ended_at"), new.HasField("ended_at")) == (True, False)
    assert (new.submitted_by, new.metadata.year, new.metadata.title) == ("bob", 2026, old.metadata.title)
    passage = await client.call("GetPassage", pb.GetPassageRequest(citation_id=cited))
    assert passage.state == documents_pb2.DOCUMENT_STATE_SUPERSEDED
    assert "Раз в год" in passage.passage.text

    asked = pb.DiffVersionsRequest(document_id="collars", from_version=1, to_version=2)
    (section,) = (await client.call("DiffVersions", asked)).sections
    assert list(section.section_path) == ["Щитовидная железа", "Проверка"]
    assert (section.before, section.after) == ("## Проверка\n\nРаз в год.", "## Проверка\n\nДважды в год.")

    back = pb.RollbackDocumentRequest(document_id="collars", version=first.version, reason="mistake")
    done = await client.call("RollbackDocument", back, actor="rita")
    assert done.previous_version == 2
    job = (await client.watch(done.job_id))[-1]
    assert (job.stage, job.kind) == (pb.JOB_STAGE_DONE, pb.JOB_KIND_INDEX)
    assert stack.index.active == {"collars": 1}
    events = (await client.call("ListAuditEvents", pb.ListAuditEventsRequest(document_id="collars"))).events
    assert ("rolled-back", "rita", "mistake") in {(e.action, e.actor, e.reason) for e in events}


async def test_reviews_name_the_caller(client: Client, stack: Stack):
    submitted = await client.indexed()
    review = pb.ReviewDocumentRequest(
        document_id=submitted.document_id, version=1, decision=pb.REVIEW_DECISION_APPROVE
    )
    with pytest.raises(RadrefError, match="approved and indexed already"):
        await client.call("ReviewDocument", review)
    review.decision = pb.REVIEW_DECISION_UNSPECIFIED
    with pytest.raises(RadrefError) as caught:
        await client.call("ReviewDocument", review)
    assert (caught.value.reason, caught.value.field) == ("INVALID_FIELD", "decision")
    review.decision = pb.REVIEW_DECISION_REJECT
    with pytest.raises(RadrefError) as caught:
        await client.call("ReviewDocument", review, actor=" ")
    assert caught.value.field == ACTOR_HEADER


async def test_upkeep_is_asked_in_the_callers_name(client: Client, upkeep: Upkeep):
    verified = await client.call("VerifyIndex", pb.VerifyIndexRequest(repair=True), actor="rita")
    assert (verified.documents, verified.children_expected, verified.children_found) == (3, 40, 39)
    (divergence,) = verified.divergences
    assert (divergence.document_id, divergence.version, divergence.repaired) == ("law", 2, True)
    assert (await client.call("Reembed", pb.ReembedRequest(model="m"))).job_id == "job"
    assert upkeep.asked == [(True, "rita"), ("m", "local")]


async def test_watched_files_are_listed_and_what_vanished_is_marked(client: Client, stack: Stack):
    submitted = await client.indexed()
    times = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2)]

    def seen(location: str, vanished_at: datetime | None, failure: str = "") -> WatchedFile:
        return WatchedFile(
            location, "laws", submitted.document_id, "0" * 64, "", "", *times, vanished_at, failure
        )

    async def note(*files: WatchedFile) -> None:
        for file in files:
            await stack.database.write(lambda session, file=file: watched_files.put_watched(session, file))

    await note(seen("/laws/a.md", times[0]), seen("/laws/b.md", None))
    get = pb.GetDocumentRequest(document_id=submitted.document_id)
    assert not (await client.call("GetDocument", get)).document.HasField("vanished_at")
    await note(seen("/laws/b.md", times[1], "no answer"))
    found = (await client.call("GetDocument", get)).document
    assert found.vanished_at.ToDatetime(tzinfo=UTC) == times[1], "no longer at any of its places"
    await note(seen("/laws/c.md", None))
    every = (await client.call("ListWatchedFiles", pb.ListWatchedFilesRequest())).files
    assert [file.location for file in every] == ["/laws/a.md", "/laws/b.md", "/laws/c.md"]
    troubled = (await client.call("ListWatchedFiles", pb.ListWatchedFilesRequest(only_troubled=True))).files
    assert [(file.location, file.failure) for file in troubled] == [
        ("/laws/a.md", ""),
        ("/laws/b.md", "no answer"),
    ]


def test_every_rpc_of_the_api_is_mapped():
    service = pb.DESCRIPTOR.services_by_name["IngestService"]
    assert {method.name for method in service.methods} <= set(vars(IngestServicer))
