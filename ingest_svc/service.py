"""IngestService over gRPC: maps messages to calls, nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from ingest_svc import messages, queries
from ingest_svc.blobs.ports import Blobs
from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.ports import Cleaner, Parser
from ingest_svc.jobs.watch import watch_job
from ingest_svc.preview import preview
from ingest_svc.reconcile import Reconcile
from ingest_svc.reembedding import StartReembedding
from ingest_svc.registry import watched_files
from ingest_svc.registry.database import Database
from ingest_svc.replacing import Replacing
from ingest_svc.retry import retry_job
from ingest_svc.reviewing import Reviewing
from ingest_svc.rollback import Rollback
from ingest_svc.submission import Submission
from ingest_svc.uploads.header import UploadHeader, UploadLimits
from ingest_svc.uploads.receive import UploadPart
from ingest_svc.variants.submitting import SubmittingVariants
from ingest_svc.withdrawal import Withdrawal
from radref.api.ingest.v1 import ingest_pb2 as pb
from radref.api.ingest.v1 import ingest_pb2_grpc
from radref.appropriateness.documents import is_variant_document
from radref.appropriateness.messages import variant_from_proto
from radref.errors import InvalidInput
from radref.service.actor import actor_of
from radref.service.handlers import Context


@dataclass(frozen=True, slots=True)
class Parts:
    """What the servicer calls."""

    database: Database
    blobs: Blobs
    parser: Parser
    clean: Cleaner
    events: JobEvents
    submission: Submission
    replacing: Replacing
    reviewing: Reviewing
    rollback: Rollback
    withdrawal: Withdrawal
    variants: SubmittingVariants
    verification: Reconcile
    reembed: StartReembedding
    limits: UploadLimits
    wake: Callable[[], None]


class IngestServicer(ingest_pb2_grpc.IngestServiceServicer):
    """See protos/radref/api/ingest/v1/ingest.proto for what each method means."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def SubmitDocument(  # noqa: N802
        self, request_iterator: AsyncIterator[pb.SubmitDocumentRequest], context: Context
    ) -> pb.SubmitDocumentResponse:
        done = await self._parts.submission.submit(_files(request_iterator), actor_of(context))
        return pb.SubmitDocumentResponse(
            document_id=done.document_id, version=done.version, job_id=done.job_id, duplicate=done.duplicate
        )

    async def WatchJob(  # noqa: N802
        self, request: pb.WatchJobRequest, context: Context
    ) -> AsyncIterator[pb.WatchJobResponse]:
        async for job in watch_job(self._parts.database, self._parts.events, request.job_id):
            yield pb.WatchJobResponse(job=messages.job_to_proto(job))

    async def RetryJob(self, request: pb.RetryJobRequest, context: Context) -> pb.RetryJobResponse:  # noqa: N802
        parts = self._parts
        job = await retry_job(parts.database, parts.events, parts.wake, request.job_id, actor_of(context))
        return pb.RetryJobResponse(job=messages.job_to_proto(job))

    async def ListDocuments(  # noqa: N802
        self, request: pb.ListDocumentsRequest, context: Context
    ) -> pb.ListDocumentsResponse:
        page = await queries.list_documents(
            self._parts.database,
            states=messages.states_from_proto(request.states),
            topics=list(request.topics),
            known_topics=self._parts.limits.topics,
            asked_size=request.page_size,
            page_token=request.page_token,
        )
        return pb.ListDocumentsResponse(
            documents=[messages.summary_to_proto(view) for view in page.documents],
            next_page_token=page.next_page_token,
            total=page.total,
        )

    async def GetDocument(  # noqa: N802
        self, request: pb.GetDocumentRequest, context: Context
    ) -> pb.GetDocumentResponse:
        view, content = await queries.get_document(self._parts.database, request.document_id, request.version)
        document = messages.summary_to_proto(view)
        if content is None:
            return pb.GetDocumentResponse(document=document)
        markdown, report = await asyncio.to_thread(messages.content_to_proto, content)
        return pb.GetDocumentResponse(document=document, markdown=markdown, report=report)

    async def GetPassage(self, request: pb.GetPassageRequest, context: Context) -> pb.GetPassageResponse:  # noqa: N802
        return messages.source_to_proto(await queries.get_passage(self._parts.database, request.citation_id))

    async def WithdrawDocument(  # noqa: N802
        self, request: pb.WithdrawDocumentRequest, context: Context
    ) -> pb.WithdrawDocumentResponse:
        previous = await self._parts.withdrawal.withdraw(
            request.document_id, request.reason, actor_of(context)
        )
        return pb.WithdrawDocumentResponse(previous_version=previous)

    async def ListVersions(  # noqa: N802
        self, request: pb.ListVersionsRequest, context: Context
    ) -> pb.ListVersionsResponse:
        views = await queries.list_versions(self._parts.database, request.document_id)
        return pb.ListVersionsResponse(versions=[messages.summary_to_proto(view) for view in views])

    async def ListAuditEvents(  # noqa: N802
        self, request: pb.ListAuditEventsRequest, context: Context
    ) -> pb.ListAuditEventsResponse:
        events, token = await queries.list_audit_events(
            self._parts.database,
            document_id=request.document_id,
            asked_size=request.page_size,
            page_token=request.page_token,
        )
        return pb.ListAuditEventsResponse(
            events=[messages.event_to_proto(event) for event in events], next_page_token=token
        )

    async def ParseDocument(  # noqa: N802
        self, request_iterator: AsyncIterator[pb.ParseDocumentRequest], context: Context
    ) -> pb.ParseDocumentResponse:
        parts = self._parts
        content = await preview(
            _upload(request_iterator),
            blobs=parts.blobs,
            parser=parts.parser,
            clean=parts.clean,
            limits=parts.limits,
        )
        markdown, report = await asyncio.to_thread(messages.content_to_proto, content)
        return pb.ParseDocumentResponse(markdown=markdown, report=report)

    async def ReviewDocument(  # noqa: N802
        self, request: pb.ReviewDocumentRequest, context: Context
    ) -> pb.ReviewDocumentResponse:
        done = await self._parts.reviewing.review(
            request.document_id,
            request.version,
            messages.decision_from_proto(request.decision),
            request.comment,
            actor_of(context),
        )
        return pb.ReviewDocumentResponse(job_id=done.job_id, approvals_missing=done.approvals_missing)

    async def ReplaceDocument(  # noqa: N802
        self, request_iterator: AsyncIterator[pb.ReplaceDocumentRequest], context: Context
    ) -> pb.ReplaceDocumentResponse:
        done = await self._parts.replacing.replace(_files(request_iterator), actor_of(context))
        return pb.ReplaceDocumentResponse(version=done.version, job_id=done.job_id, duplicate=done.duplicate)

    async def RollbackDocument(  # noqa: N802
        self, request: pb.RollbackDocumentRequest, context: Context
    ) -> pb.RollbackDocumentResponse:
        done = await self._parts.rollback.roll_back(
            request.document_id, request.version, request.reason, actor_of(context)
        )
        return pb.RollbackDocumentResponse(previous_version=done.previous_version, job_id=done.job_id)

    async def DiffVersions(  # noqa: N802
        self, request: pb.DiffVersionsRequest, context: Context
    ) -> pb.DiffVersionsResponse:
        changes = await queries.diff_versions(
            self._parts.database, request.document_id, request.from_version, request.to_version
        )
        return pb.DiffVersionsResponse(sections=[messages.change_to_proto(change) for change in changes])

    async def VerifyIndex(  # noqa: N802
        self, request: pb.VerifyIndexRequest, context: Context
    ) -> pb.VerifyIndexResponse:
        return messages.verification_to_proto(
            await self._parts.verification.verify(request.repair, actor_of(context))
        )

    async def Reembed(self, request: pb.ReembedRequest, context: Context) -> pb.ReembedResponse:  # noqa: N802
        return pb.ReembedResponse(job_id=await self._parts.reembed(request.model, actor_of(context)))

    async def ListWatchedFiles(  # noqa: N802
        self, request: pb.ListWatchedFilesRequest, context: Context
    ) -> pb.ListWatchedFilesResponse:
        files = await self._parts.database.read(
            lambda session: watched_files.list_watched(session, only_troubled=request.only_troubled)
        )
        return pb.ListWatchedFilesResponse(files=[messages.watched_to_proto(file) for file in files])

    async def SubmitVariant(  # noqa: N802
        self, request: pb.SubmitVariantRequest, context: Context
    ) -> pb.SubmitVariantResponse:
        variant = variant_from_proto(request.variant)
        done = await self._parts.variants.submit(variant, actor_of(context))
        return pb.SubmitVariantResponse(
            document_id=done.document_id, version=done.version, job_id=done.job_id
        )


async def _upload(requests: AsyncIterator[messages.UploadMessage]) -> AsyncIterator[UploadPart]:
    async for request in requests:
        yield messages.upload_part(request)


async def _files(requests: AsyncIterator[messages.UploadMessage]) -> AsyncIterator[UploadPart]:
    """An upload of a file, which may not take the place of a variant."""
    async for part in _upload(requests):
        if isinstance(part, UploadHeader) and is_variant_document(part.document_id):
            raise InvalidInput(
                "Documents with such an id are appropriateness variants: SubmitVariant takes them in.",
                field="header.document_id",
            )
        yield part
