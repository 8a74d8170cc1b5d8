"""For those who help curators: what can be found, what is on its way, do index and registry agree."""

from __future__ import annotations

from monitoring.alerts.knowledge_base import INDEXED
from monitoring.dashboards.board import Board, Panel, Query, Row, Unit
from monitoring.dashboards.processes import process_row
from monitoring.dashboards.queries import RPC, failing, job, percentiles, rate, selector
from monitoring.names import INGEST, RETRIEVAL

_STAGE = "radref_ingest_stage_duration_seconds"
_DOCUMENTS = "radref_kb_documents"
_VERIFIED = selector("radref_index_verified_timestamp_seconds", job(INGEST))
_IN_INDEX = selector(_DOCUMENTS, job(RETRIEVAL), 'state="indexed"')


def _documents(by: str, *matchers: str) -> str:
    # Every pod tells of the same registry.
    return f"max by ({by}) ({selector(_DOCUMENTS, job(INGEST), *matchers)})"


INGEST_BOARD = Board(
    "radref-ingest",
    "Ingest and knowledge base",
    "What is in the knowledge base, what is on its way into it, and whether index and registry agree.",
    [
        Row(
            "State",
            [
                Panel(
                    "Documents that can be found",
                    "Active in the index.",
                    Unit.COUNT,
                    [Query(f"sum({INDEXED})", "documents")],
                    kind="stat",
                    limit=1,
                    bad_below=True,
                ),
                Panel(
                    "Differences, not mended",
                    "Between index and registry at the last check. Must be 0.",
                    Unit.COUNT,
                    [Query(f"max({selector('radref_index_divergence', job(INGEST))})", "documents")],
                    kind="stat",
                    limit=1,
                ),
                Panel(
                    "Jobs that wait",
                    "For a worker.",
                    Unit.COUNT,
                    [Query(f"max({selector('radref_ingest_queue_depth', job(INGEST))})", "jobs")],
                    kind="stat",
                ),
                Panel(
                    "Oldest unfinished job",
                    "Since it was handed in; waiting for a reviewer does not count.",
                    Unit.SECONDS,
                    [Query(f"max({selector('radref_ingest_oldest_job_age_seconds', job(INGEST))})", "age")],
                    kind="stat",
                    limit=3600,
                ),
            ],
        ),
        Row(
            "Knowledge base",
            [
                Panel(
                    "Documents by state",
                    "Newest version of each, in the registry. Many in `parsed` wait for a reviewer.",
                    Unit.COUNT,
                    [Query(f"sum by (state) ({_documents('state, topic')})", "{{state}}")],
                    stacked=True,
                ),
                Panel(
                    "Documents that can be found, by topic",
                    "In the index, which is what searches see.",
                    Unit.COUNT,
                    [Query(f"max by (topic) ({_IN_INDEX})", "{{topic}}")],
                    stacked=True,
                ),
                Panel(
                    "Jobs that wait",
                    "For a worker.",
                    Unit.COUNT,
                    [Query(f"max({selector('radref_ingest_queue_depth', job(INGEST))})", "jobs")],
                ),
                Panel(
                    "Oldest unfinished job",
                    "A line that climbs one second a second is a job that does not move.",
                    Unit.SECONDS,
                    [Query(f"max({selector('radref_ingest_oldest_job_age_seconds', job(INGEST))})", "age")],
                    limit=3600,
                ),
                Panel(
                    "Differences between index and registry",
                    "Found by the regular check and not mended.",
                    Unit.COUNT,
                    [Query(f"max({selector('radref_index_divergence', job(INGEST))})", "documents")],
                    limit=1,
                ),
                Panel(
                    "Since index and registry were compared",
                    "Differences are only as new as this. More than three intervals "
                    "(ingest.reconcile.interval_seconds, an hour): the comparison does not run.",
                    Unit.SECONDS,
                    [Query(f"time() - max({_VERIFIED})", "age")],
                    limit=3 * 3600,
                ),
            ],
        ),
        Row(
            "Work",
            [
                Panel(
                    "Stages worked off",
                    "Jobs that came through each stage. Where a stage stands at 0 and the one before it "
                    "does not, it stops.",
                    Unit.PER_SECOND,
                    [Query(rate(f"{_STAGE}_count", by="stage"), "{{stage}}")],
                ),
                Panel(
                    "Time of a stage, p95",
                    "parse grows with scans, embed with length.",
                    Unit.SECONDS,
                    percentiles(_STAGE, by="stage", percents=(95,)),
                ),
                Panel(
                    "Time of a stage, p50",
                    "The usual document.",
                    Unit.SECONDS,
                    percentiles(_STAGE, by="stage", percents=(50,)),
                ),
            ],
        ),
        Row(
            "Calls of curators and of the gateway",
            [
                Panel(
                    "Calls by method",
                    "GetPassage is the gateway's, for citations; WatchJob lasts as long as the job.",
                    Unit.CALLS_PER_SECOND,
                    [Query(rate(f"{RPC}_count", job(INGEST), by="method"), "{{method}}")],
                    stacked=True,
                ),
                Panel(
                    "Share that did not end OK, by method",
                    "Callers' mistakes included.",
                    Unit.SHARE,
                    [Query(failing(job(INGEST)), "{{method}}")],
                ),
                Panel(
                    "Time of a call, by method",
                    "Calls that ended OK, without WatchJob.",
                    Unit.SECONDS,
                    percentiles(RPC, job(INGEST), 'code="OK"', 'method!="WatchJob"', by="method"),
                    exemplars=True,
                ),
            ],
        ),
        process_row(INGEST),
    ],
)
