"""Figures of queue and knowledge base for the dashboards."""

from __future__ import annotations

import asyncio

import structlog

from ingest_svc.jobs.journal import utc_now
from ingest_svc.registry import documents, jobs
from ingest_svc.registry.database import Database
from radref.errors import RadrefError
from radref.service.metrics import INGEST_OLDEST_JOB_AGE, INGEST_QUEUE_DEPTH, KB_DOCUMENTS

INTERVAL_SECONDS = 5.0

# State and topic.
Labels = tuple[str, str]

log = structlog.get_logger()


async def refresh_gauges(database: Database, shown: frozenset[Labels] = frozenset()) -> frozenset[Labels]:
    """Sets queue depth, age of the oldest unfinished job, and documents by state and topic.

    Args:
        shown: labels set the last time; those that nothing is in any more are taken away.

    Returns:
        The labels set now.

    Raises:
        Unavailable: BACKEND_UNAVAILABLE, the registry does not answer.
    """
    waiting, oldest = await database.read(jobs.queue_figures)
    INGEST_QUEUE_DEPTH.set(waiting)
    INGEST_OLDEST_JOB_AGE.set(max(0.0, (utc_now() - oldest).total_seconds()) if oldest else 0.0)
    counts = await database.read(documents.count_documents)
    for state, topic, count in counts:
        KB_DOCUMENTS.labels(state=state, topic=topic).set(count)
    now = frozenset((state, topic) for state, topic, _ in counts)
    for gone in shown - now:
        KB_DOCUMENTS.remove(*gone)
    return now


async def keep_gauges(database: Database) -> None:
    """Refreshes the gauges until cancelled."""
    shown: frozenset[Labels] = frozenset()
    while True:
        try:
            shown = await refresh_gauges(database, shown)
        except RadrefError as exc:
            log.warning("gauges not refreshed", reason=exc.reason)
        await asyncio.sleep(INTERVAL_SECONDS)
