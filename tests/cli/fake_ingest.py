"""An ingest service in memory, over real gRPC: enough of the life of documents to drive the command line.

A line of a file is a child; a line that an earlier version of its document held is not embedded again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import grpc
from google.protobuf.timestamp_pb2 import Timestamp
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from radref.api.common.v1 import documents_pb2 as docs
from radref.api.ingest.v1 import ingest_pb2 as pb
from radref.api.ingest.v1 import ingest_pb2_grpc, report_pb2
from radref.appropriateness.documents import variant_document_id
from radref.appropriateness.messages import variant_from_proto
from radref.appropriateness.passage import render
from radref.errors import InvalidInput, NotFound, PreconditionFailed, RadrefError, Unavailable
from radref.service.status import to_status

TIME = Timestamp()
TIME.FromDatetime(datetime(2026, 3, 1, 9, 30, tzinfo=UTC))
_ACTIONS = {
    docs.DOCUMENT_STATE_PARSED: "parsed",
    docs.DOCUMENT_STATE_INDEXED: "indexed",
    docs.DOCUMENT_STATE_FAILED: "failed",
}


def refuse(context: grpc.ServicerContext, error: RadrefError) -> None:
    context.abort_with_status(rpc_status.to_status(to_status(error, "request-1")))


@dataclass
class FakeIngest(ingest_pb2_grpc.IngestServiceServicer):
    """A knowledge base.

    `review`: uploads wait. `approvals`: needed in all. `failing`: file name -> failure of its job.
    `lost_watches`: so many streams of jobs break.
    """

    review: bool = False
    lost_watches: int = 0
    approvals: int = 1
    failing: dict[str, pb.JobFailure] = field(default_factory=dict)
    verified: pb.VerifyIndexResponse = field(default_factory=pb.VerifyIndexResponse)
    watched: list[pb.WatchedFile] = field(default_factory=list)
    versions: dict[str, list[pb.DocumentSummary]] = field(default_factory=dict)
    texts: dict[tuple[str, int], bytes] = field(default_factory=dict)
    jobs: dict[str, pb.Job] = field(default_factory=dict)
    events: list[pb.AuditEvent] = field(default_factory=list)
    headers: list[pb.UploadHeader] = field(default_factory=list)

    def SubmitDocument(self, request_iterator, context):  # noqa: N802
        header, data = self._receive(request_iterator, context)
        sha256 = hashlib.sha256(data).hexdigest()
        for versions in self.versions.values():
            newest = versions[-1]
            if newest.sha256 == sha256 and newest.state == docs.DOCUMENT_STATE_INDEXED:
                return pb.SubmitDocumentResponse(
                    document_id=newest.document_id, version=newest.version, duplicate=True
                )
        existing = self.versions.get(header.document_id)
        if existing and (existing[-1].active_version or existing[-1].state == docs.DOCUMENT_STATE_PARSED):
            refuse(context, PreconditionFailed(f"Document {header.document_id} exists with other content."))
        job = self._add(header, data, context)
        return pb.SubmitDocumentResponse(document_id=header.document_id, version=job.version, job_id=job.id)

    def ReplaceDocument(self, request_iterator, context):  # noqa: N802
        header, data = self._receive(request_iterator, context)
        newest = self._all(header.document_id, context)[-1]
        if newest.sha256 == hashlib.sha256(data).hexdigest():
            return pb.ReplaceDocumentResponse(version=newest.version, duplicate=True)
        for other in self.versions.values():
            if other[-1].sha256 == hashlib.sha256(data).hexdigest():
                held = {"document_id": other[-1].document_id}
                refuse(context, PreconditionFailed("These bytes are another document.", metadata=held))
        if not header.metadata.topic:
            header.metadata.topic = newest.metadata.topic
        job = self._add(header, data, context)
        return pb.ReplaceDocumentResponse(version=job.version, job_id=job.id)

    def SubmitVariant(self, request, context):  # noqa: N802
        variant = variant_from_proto(request.variant)
        data = render(variant).encode()
        header = pb.UploadHeader(
            document_id=variant_document_id(variant.id),
            file_name=f"{variant.id}.md",
            metadata=docs.DocumentMetadata(topic="consult", title=variant.title),
            size_bytes=len(data),
        )
        same = hashlib.sha256(data).hexdigest()
        for version in self.versions.get(header.document_id, []):
            if version.sha256 == same and version.state == docs.DOCUMENT_STATE_INDEXED:
                return pb.SubmitVariantResponse(document_id=header.document_id, version=version.version)
        job = self._add(header, data, context)
        return pb.SubmitVariantResponse(document_id=header.document_id, version=job.version, job_id=job.id)

    def WatchJob(self, request, context):  # noqa: N802
        if request.job_id not in self.jobs:
            refuse(context, NotFound("There is no such job.", reason="UNKNOWN_JOB"))
        job = self.jobs[request.job_id]
        yield pb.WatchJobResponse(
            job=pb.Job(id=job.id, document_id=job.document_id, stage=pb.JOB_STAGE_EMBED)
        )
        if self.lost_watches:
            self.lost_watches -= 1
            refuse(context, Unavailable("Restarting."))
        yield pb.WatchJobResponse(job=job)

    def RetryJob(self, request, context):  # noqa: N802
        job = self.jobs[request.job_id]
        job.ClearField("failure")
        self._end(job, docs.DOCUMENT_STATE_INDEXED, context)
        return pb.RetryJobResponse(job=job)

    def ListDocuments(self, request, context):  # noqa: N802
        found = [v[-1] for v in self.versions.values()]
        found = [d for d in found if not request.states or d.state in request.states]
        found = [d for d in found if not request.topics or d.metadata.topic in request.topics]
        start = int(request.page_token or 0)
        end = start + (request.page_size or 100)
        token = str(end) if end < len(found) else ""
        return pb.ListDocumentsResponse(documents=found[start:end], next_page_token=token, total=len(found))

    def ListVersions(self, request, context):  # noqa: N802
        return pb.ListVersionsResponse(versions=self._all(request.document_id, context))

    def GetDocument(self, request, context):  # noqa: N802
        versions = self._all(request.document_id, context)
        document = versions[request.version - 1] if request.version else versions[-1]
        if document.state == docs.DOCUMENT_STATE_FAILED:
            return pb.GetDocumentResponse(document=document)
        report = report_pb2.ParseReport(
            format="markdown", parser="fake", warnings=["2 pages hold no text"], characters=100
        )
        section = report.sections.add(section_path=["Doses", "Eye lens"])
        section.pages.first, section.pages.last = 3, 4
        text = self.texts[document.document_id, document.version].decode()
        return pb.GetDocumentResponse(document=document, markdown=text, report=report)

    def ReviewDocument(self, request, context):  # noqa: N802
        document = self._all(request.document_id, context)[request.version - 1]
        if document.state != docs.DOCUMENT_STATE_PARSED:
            refuse(context, PreconditionFailed("It does not wait for review."))
        actor = self._actor(context)
        document.reviews.add(reviewer=actor, decision=request.decision, comment=request.comment, at=TIME)
        if request.decision == pb.REVIEW_DECISION_REJECT:
            document.state = docs.DOCUMENT_STATE_REJECTED
            self._note(context, document, "rejected", request.comment)
            return pb.ReviewDocumentResponse()
        self._note(context, document, "approved", request.comment)
        missing = self.approvals - len({review.reviewer for review in document.reviews})
        if missing > 0:
            return pb.ReviewDocumentResponse(approvals_missing=missing)
        job = self._job(document)
        self._end(job, docs.DOCUMENT_STATE_INDEXED, context)
        return pb.ReviewDocumentResponse(job_id=job.id)

    def RollbackDocument(self, request, context):  # noqa: N802
        document = self._all(request.document_id, context)[request.version - 1]
        previous = document.active_version
        self._note(context, document, "rolled-back", request.reason)
        job = self._job(document)
        self._end(job, docs.DOCUMENT_STATE_INDEXED, context)
        return pb.RollbackDocumentResponse(previous_version=previous, job_id=job.id)

    def WithdrawDocument(self, request, context):  # noqa: N802
        versions = self._all(request.document_id, context)
        previous = versions[-1].active_version
        for version in versions:
            version.active_version = 0
        versions[-1].state = docs.DOCUMENT_STATE_WITHDRAWN
        versions[-1].ended_at.CopyFrom(TIME)
        self._note(context, versions[-1], "withdrawn", request.reason)
        return pb.WithdrawDocumentResponse(previous_version=previous)

    def DiffVersions(self, request, context):  # noqa: N802
        self._all(request.document_id, context)
        before = self.texts[request.document_id, request.from_version].decode()
        after = self.texts[request.document_id, request.to_version].decode()
        if before == after:
            return pb.DiffVersionsResponse()
        return pb.DiffVersionsResponse(
            sections=[
                pb.SectionDiff(section_path=["Doses", "Eye lens"], before=before, after=after),
                pb.SectionDiff(section_path=["Новое"], after="Добавлено."),
            ]
        )

    def VerifyIndex(self, request, context):  # noqa: N802
        response = pb.VerifyIndexResponse()
        response.CopyFrom(self.verified)
        for divergence in response.divergences:
            divergence.repaired = request.repair
        return response

    def Reembed(self, request, context):  # noqa: N802
        if request.model == "unknown":
            refuse(context, InvalidInput("There is no such model.", reason="UNKNOWN_MODEL"))
        job = pb.Job(id="reembed-1", kind=pb.JOB_KIND_REEMBED, stage=pb.JOB_STAGE_DONE, done=3, total=3)
        self.jobs[job.id] = job
        return pb.ReembedResponse(job_id=job.id)

    def ListWatchedFiles(self, request, context):  # noqa: N802
        troubled = [file for file in self.watched if file.failure or file.HasField("vanished_at")]
        return pb.ListWatchedFilesResponse(files=troubled if request.only_troubled else self.watched)

    def ListAuditEvents(self, request, context):  # noqa: N802
        wanted = [e for e in self.events if request.document_id in ("", e.document_id)]
        return pb.ListAuditEventsResponse(events=reversed(wanted))

    def _receive(self, requests, context) -> tuple[pb.UploadHeader, bytes]:
        parts = list(requests)
        header, data = parts[0].header, b"".join(part.chunk for part in parts[1:])
        assert header.size_bytes == len(data)
        if not data:
            refuse(context, InvalidInput("The file is empty.", reason="EMPTY_FILE"))
        self.headers.append(header)
        return header, data

    def _add(self, header: pb.UploadHeader, data: bytes, context) -> pb.Job:
        versions = self.versions.setdefault(header.document_id, [])
        document = pb.DocumentSummary(
            document_id=header.document_id,
            version=len(versions) + 1,
            active_version=versions[-1].active_version if versions else 0,
            metadata=header.metadata,
            file_name=header.file_name,
            sha256=hashlib.sha256(data).hexdigest(),
            submitted_by=self._actor(context),
            updated_at=TIME,
        )
        known = {
            line
            for version in versions
            for line in self.texts[header.document_id, version.version].splitlines()
        }
        versions.append(document)
        self.texts[header.document_id, document.version] = data
        self._note(context, document, "submitted", "")
        job = self._job(document)
        lines = data.splitlines()
        job.embedded = len([line for line in lines if line not in known])
        job.reused = len(lines) - job.embedded
        if header.file_name in self.failing:
            job.failure.CopyFrom(self.failing[header.file_name])
            document.failure.CopyFrom(job.failure)
            self._end(job, docs.DOCUMENT_STATE_FAILED, context)
        else:
            waits = docs.DOCUMENT_STATE_PARSED if self.review else docs.DOCUMENT_STATE_INDEXED
            self._end(job, waits, context)
        return job

    def _job(self, document: pb.DocumentSummary) -> pb.Job:
        job = pb.Job(
            id=f"job-{len(self.jobs) + 1}",
            document_id=document.document_id,
            version=document.version,
            kind=pb.JOB_KIND_INDEX,
        )
        self.jobs[job.id] = job
        return job

    def _end(self, job: pb.Job, state: docs.DocumentState.ValueType, context) -> None:
        versions = self.versions[job.document_id]
        document = versions[job.version - 1]
        document.state = state
        self._note(context, document, _ACTIONS[state], "")
        if state == docs.DOCUMENT_STATE_FAILED:
            job.stage = pb.JOB_STAGE_FAILED
        elif state == docs.DOCUMENT_STATE_PARSED:
            job.stage = pb.JOB_STAGE_AWAIT_REVIEW
        else:
            job.stage = pb.JOB_STAGE_DONE
            job.parents, job.children = 1, len(self.texts[job.document_id, job.version].splitlines())
            for version in versions:
                if version.version != job.version and version.state == docs.DOCUMENT_STATE_INDEXED:
                    version.state = docs.DOCUMENT_STATE_SUPERSEDED
                    version.ended_at.CopyFrom(TIME)
                version.active_version = job.version

    def _all(self, document_id: str, context) -> list[pb.DocumentSummary]:
        if document_id not in self.versions:
            refuse(context, NotFound(f"There is no document {document_id}."))
        return self.versions[document_id]

    def _note(self, context, document: pb.DocumentSummary, action: str, reason: str) -> None:
        self.events.append(
            pb.AuditEvent(
                at=TIME,
                actor=self._actor(context),
                action=action,
                document_id=document.document_id,
                version=document.version,
                reason=reason,
            )
        )

    def _actor(self, context) -> str:
        sent = dict(context.invocation_metadata())
        binary = sent.get("radref-actor-bin")
        return binary.decode() if binary else sent.get("radref-actor", "local")


@contextmanager
def serving(ingest: FakeIngest) -> Iterator[str]:
    """Serves on a free port; yields host:port."""
    server = grpc.server(ThreadPoolExecutor(max_workers=8))
    ingest_pb2_grpc.add_IngestServiceServicer_to_server(ingest, server)
    state = health.HealthServicer()
    state.set("", health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(state, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
