"""Values of this service as messages of its API, and back. Mapping only."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from ingest_svc.document import render
from ingest_svc.lifecycle import DocumentState
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.queries import PassageSource, VersionView
from ingest_svc.registry.records import AuditEvent, Failure, Job, ParsedContent
from ingest_svc.sections import sections_of
from ingest_svc.uploads.header import UploadHeader
from ingest_svc.uploads.receive import UploadPart
from radref.api.common.v1 import documents_pb2, errors_pb2
from radref.api.ingest.v1 import ingest_pb2, report_pb2
from radref.errors import InvalidInput


def upload_part(
    message: ingest_pb2.SubmitDocumentRequest | ingest_pb2.ParseDocumentRequest,
) -> UploadPart:
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


def job_to_proto(job: Job) -> ingest_pb2.Job:
    return ingest_pb2.Job(
        id=job.id,
        document_id=job.document_id,
        version=job.version,
        stage=ingest_pb2.JobStage.Value(f"JOB_STAGE_{job.stage.name}"),
        state=state_to_proto(job.state),
        done=job.done,
        total=job.total,
        failure=_failure(job.failure),
        attempts=job.attempts,
        created_at=_timestamp(job.created_at),
        updated_at=_timestamp(job.updated_at),
        parents=job.parents,
        children=job.children,
        warnings=job.warnings,
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
        ),
        state=state_to_proto(version.state),
        ended_at=_timestamp(version.ended_at),
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
