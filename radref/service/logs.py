"""JSON logs with request id and trace id, those of libraries too.

Texts of queries, passages and patients never go here.
"""

from __future__ import annotations

import logging
import sys
import traceback

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from radref.service.tracing.spans import current_trace_id


def configure_logging(service: str, level: str) -> None:
    """Sends one JSON object a line to standard error."""
    number = logging.getLevelNamesMapping()[level.upper()]
    before: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        _add_trace_id,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    after: list[Processor] = [
        structlog.processors.EventRenamer("message"),
        structlog.processors.JSONRenderer(ensure_ascii=False),
    ]
    structlog.configure(
        processors=[*before, *after],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )
    libraries = logging.StreamHandler(sys.stderr)
    libraries.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*before, structlog.stdlib.add_logger_name, _frames_only],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *after],
        )
    )
    logging.basicConfig(handlers=[libraries], level=number, force=True)
    structlog.contextvars.bind_contextvars(service=service)


def _add_trace_id(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    trace_id = current_trace_id()
    if trace_id is not None:
        event["trace_id"] = trace_id
    return event


def _frames_only(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """A library's exception without its message, which could quote a document."""
    record = event.get("_record")
    if record is not None and record.exc_info:
        kind, _error, frames = record.exc_info
        event["error"] = kind.__name__ if kind else None
        event["frames"] = traceback.format_tb(frames)
        # The formatter would print the whole of it after the line.
        record.exc_info = record.exc_text = None
        event.pop("exc_info", None)
    return event
