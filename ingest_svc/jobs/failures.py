"""Which failures of a job are tried again, and what is told of them. Pure."""

from __future__ import annotations

from ingest_svc.registry.records import Failure
from radref.errors import RadrefError

# A backend is away or busy: the same attempt may succeed in a moment.
TRANSIENT_REASONS = frozenset({"BACKEND_UNAVAILABLE", "NOT_READY", "OVERLOADED", "DEADLINE", "CANCELLED"})
# Not tried again by itself, but a curator's retry may help: a parser that died or ran out of time may have
# been starved by its neighbours, a backend's defect may be gone after a restart, the site's questions may be
# mended.
WORTH_A_RETRY = TRANSIENT_REASONS | {"PARSE_TIMEOUT", "PARSER_CRASHED", "INTERNAL", "FUNCTIONAL_CHECK_FAILED"}


def is_transient(error: RadrefError) -> bool:
    """True when the job should try again by itself."""
    return error.reason in TRANSIENT_REASONS


def failure_of(error: RadrefError) -> Failure:
    """What is kept of an error."""
    return Failure(error.reason, error.message, error.reason in WORTH_A_RETRY)


def defect(job_id: str) -> Failure:
    """What is told of an exception nobody expected; its own text may quote the document."""
    return Failure("INTERNAL", f"Internal error; the log entry of job {job_id} leads to the cause.", True)


def endless(attempts: int) -> Failure:
    """What is told of a job that took the whole service down each time."""
    return Failure(
        "INTERNAL", f"The service stopped during each of {attempts} attempts to process this document.", True
    )
