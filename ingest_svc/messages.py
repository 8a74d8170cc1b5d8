"""Values of this service as messages of its API, and back. Mapping only."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from ingest_svc.document import render
from ingest_svc.lifecycle import Decision, DocumentState
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.queries import PassageSource, VersionView
from ingest_svc.reconcile import VerifyResult
from ingest_svc.registry.records import AuditEvent, Failure, Job, ParsedContent, Review
from ingest_svc.registry.watched_files import WatchedFile
from ingest_svc.section_diff import SectionChange
from ingest_svc.sections import sections_of
from ingest_svc.uploads.header import UploadHeader
from ingest_svc.uploads.receive import UploadPart
from radref.api.common.v1 import documents_pb2, errors_pb2
from radref.api.ingest.v1 import ingest_pb2, report_pb2
from radref.errors import InvalidInput

UploadMessage = (
    ingest_pb2.SubmitDocumentRequest | ingest_pb2.ReplaceDocumentRequest | ingest_pb2.ParseDocumentRequest
)


def upload_part(message: UploadMessage) -> UploadPart:
    """Header or bytes of an upload's message; None when it holds neither."""
    part = message.WhichOneof("part")
    if part == "chunk":
        return message.chunk
    if part == "header":
        header = message.header
        return UploadHeader(
            document_id=header.document_id,
            file_name=header.file_name,
            metadata=_metadata(header.metadata),
            size_bytes=header.size_bytes,
        )
    return None


def metadata_to_proto(metadata: DocumentMetadata) -> documents_pb2.DocumentMetadata:
    return documents_pb2.DocumentMetadata(
        title=metadata.title,
        topic=metadata.topic,
        language=metadata.language,
        source_category=metadata.source_category,
        source=metadata.source,
        licence=metadata.licence,
        year=metadata.year,
        authority=metadata.authority,
        effective_from=_timestamp(metadata.effective_from),
        effective_until=_timestamp(metadata.effective_until),
        supersedes=metadata.supersedes,
    )


def pages_to_proto(pages: tuple[int, int] | None) -> documents_pb2.PageRange | None:
    return documents_pb2.PageRange(first=pages[0], last=pages[1]) if pages else None


def state_to_proto(state: DocumentState) -> documents_pb2.DocumentState.ValueType:
    return documents_pb2.DocumentState.Value(f"DOCUMENT_STATE_{state.name}")


def states_from_proto(states: Iterable[int]) -> list[DocumentState]:
    """States of a filter.

    Raises:
        InvalidInput: INVALID_FIELD, an unknown or unspecified state.
    """
    names = {
        int(value): name.removeprefix("DOCUMENT_STATE_")
        for name, value in documents_pb2.DocumentState.items()
    }
    try:
        return [DocumentState[names[state]] for state in states]
    except KeyError:
        raise InvalidInput("A state to filter by is unknown.", field="states") from None


def decision_from_proto(decision: int) -> Decision:
    """A reviewer's decision.

    Raises:
        InvalidInput: INVALID_FIELD, unspecified or unknown.
    """
    try:
        name = ingest_pb2.ReviewDecision.Name(ingest_pb2.ReviewDecision.ValueType(decision))
        return Decision[name.removeprefix("REVIEW_DECISION_")]
    except (ValueError, KeyError):
        raise InvalidInput("The decision must be to approve or to reject.", field="decision") from None


def job_to_proto(job: Job) -> ingest_pb2.Job:
    return ingest_pb2.Job(
        id=job.id,
        document_id=job.document_id,
        version=job.version,
        stage=ingest_pb2.JobStage.Value(f"JOB_STAGE_{job.stage.name}"),
        state=state_to_proto(job.state) if job.state else documents_pb2.DOCUMENT_STATE_UNSPECIFIED,
        done=job.done,
        total=job.total,
        failure=_failure(job.failure),
        attempts=job.attempts,
        created_at=_timestamp(job.created_at),
        updated_at=_timestamp(job.updated_at),
        parents=job.parents,
        children=job.children,
        warnings=job.warnings,
        kind=ingest_pb2.JobKind.Value(f"JOB_KIND_{job.kind.name}"),
        embedded=job.embedded,
        reused=job.reused,
    )


def summary_to_proto(view: VersionView) -> ingest_pb2.DocumentSummary:
    version = view.version
    return ingest_pb2.DocumentSummary(
        document_id=version.document_id,
        version=version.version,
        active_version=view.active_version,
        state=state_to_proto(version.state),
        metadata=metadata_to_proto(version.metadata),
        file_name=version.file_name,
        sha256=version.sha256,
        updated_at=_timestamp(version.updated_at),
        failure=_failure(version.failure),
        parents=version.parents,
        children=version.children,
        submitted_by=version.submitted_by,
        near_duplicates=[
            ingest_pb2.NearDuplicate(
                document_id=twin.document_id, version=twin.version, similarity=twin.similarity
            )
            for twin in version.near_duplicates
        ],
        reviews=[_review(review) for review in view.reviews],
        vanished_at=_timestamp(view.vanished_at),
        ended_at=_timestamp(version.ended_at),
    )


def content_to_proto(content: ParsedContent) -> tuple[str, report_pb2.ParseReport]:
    """The Markdown and the report, whose sections point into it."""
    markdown, placed = render(content.blocks)
    report = content.report
    return markdown, report_pb2.ParseReport(
        format=report.format,
        parser=report.parser,
        encoding=report.encoding,
        pages=report.pages,
        tables=report.tables,
        headings=report.headings,
        image_share=report.image_share,
        unreadable_share=report.unreadable_share,
        orthography_score=report.orthography_score,
        language=report.language,
        characters=report.characters,
        removed_characters=report.removed_characters,
        warnings=report.warnings,
        sections=[
            report_pb2.SectionInfo(
                section_path=section.path,
                span=documents_pb2.Span(start=section.start, end=section.end),
                pages=pages_to_proto(section.pages),
            )
            for section in sections_of(placed)
        ],
    )


def source_to_proto(source: PassageSource) -> ingest_pb2.GetPassageResponse:
    passage, version = source.passage, source.version
    return ingest_pb2.GetPassageResponse(
        passage=documents_pb2.Passage(
            citation_id=passage.citation_id,
            document_id=passage.document_id,
            version=passage.version,
            ordinal=passage.ordinal,
            text=passage.text,
            section_path=passage.section_path,
            pages=pages_to_proto(passage.pages),
            metadata=metadata_to_proto(version.metadata),
            validity=documents_pb2.Validity.Value(f"VALIDITY_{source.standing.validity.name}"),
            superseded_by=source.standing.superseded_by,
            superseded_at=_timestamp(source.standing.superseded_at),
        ),
        state=state_to_proto(source.state),
        ended_at=_timestamp(version.ended_at),
    )


def change_to_proto(change: SectionChange) -> ingest_pb2.SectionDiff:
    return ingest_pb2.SectionDiff(section_path=change.path, before=change.before, after=change.after)


def verification_to_proto(result: VerifyResult) -> ingest_pb2.VerifyIndexResponse:
    return ingest_pb2.VerifyIndexResponse(
        divergences=[
            ingest_pb2.IndexDivergence(
                document_id=item.document_id,
                version=item.version,
                message=item.message,
                repaired=item.repaired,
            )
            for item in result.divergences
        ],
        documents=result.documents,
        children_expected=result.children_expected,
        children_found=result.children_found,
    )


def watched_to_proto(file: WatchedFile) -> ingest_pb2.WatchedFile:
    return ingest_pb2.WatchedFile(
        location=file.location,
        source=file.source,
        document_id=file.document_id,
        checked_at=_timestamp(file.checked_at),
        changed_at=_timestamp(file.changed_at),
        vanished_at=_timestamp(file.vanished_at),
        failure=file.failure,
    )


def event_to_proto(event: AuditEvent) -> ingest_pb2.AuditEvent:
    return ingest_pb2.AuditEvent(
        at=_timestamp(event.at),
        actor=event.actor,
        action=event.action,
        document_id=event.document_id,
        version=event.version,
        reason=event.reason,
    )


def _review(review: Review) -> ingest_pb2.Review:
    return ingest_pb2.Review(
        reviewer=review.reviewer,
        decision=ingest_pb2.ReviewDecision.Value(f"REVIEW_DECISION_{review.decision.name}"),
        comment=review.comment,
        at=_timestamp(review.at),
    )


def _metadata(message: documents_pb2.DocumentMetadata) -> DocumentMetadata:
    return DocumentMetadata(
        topic=message.topic,
        title=message.title,
        language=message.language,
        source_category=message.source_category,
        source=message.source,
        licence=message.licence,
        year=message.year,
        authority=message.authority,
        effective_from=_time(message, "effective_from"),
        effective_until=_time(message, "effective_until"),
        supersedes=tuple(message.supersedes),
    )


def _time(message: documents_pb2.DocumentMetadata, name: str) -> datetime | None:
    if not message.HasField(name):  # type: ignore[arg-type]
        return None
    stamp: Timestamp = getattr(message, name)
    try:
        return stamp.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{name} must lie in the years 1-9999.", reason="OUT_OF_RANGE", field=f"header.metadata.{name}"
        ) from None


def _timestamp(time: datetime | None) -> Timestamp | None:
    if time is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(time)
    return stamp


def _failure(failure: Failure | None) -> ingest_pb2.JobFailure | None:
    if failure is None:
        return None
    name = f"ERROR_REASON_{failure.reason}"
    # A newer neighbour may know reasons that this release does not.
    known = name if name in errors_pb2.ErrorReason.keys() else "ERROR_REASON_INTERNAL"  # noqa: SIM118
    return ingest_pb2.JobFailure(
        reason=errors_pb2.ErrorReason.Value(known), message=failure.message, retryable=failure.retryable
    )
