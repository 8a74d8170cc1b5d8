"""Alerts: what can be found is what was approved, and what was handed in arrives."""

from __future__ import annotations

from monitoring.names import INGEST, RETRIEVAL
from monitoring.rules import Alert, Group

# Every pod of retrieval sees the same index, so the largest is the count: one that starts says 0 for a
# moment.
_BY_TOPIC = f'max by (namespace, topic) (radref_kb_documents{{job="{RETRIEVAL}", state="indexed"}}'
INDEXED, INDEXED_AN_HOUR_AGO = (f"sum by (namespace) ({_BY_TOPIC}{when}))" for when in ("", " offset 1h"))
OLDEST_JOB = f'max by (namespace) (radref_ingest_oldest_job_age_seconds{{job="{INGEST}"}})'
VERIFIED = f'radref_index_verified_timestamp_seconds{{job="{INGEST}"}}'

KNOWLEDGE_BASE_ALERTS = Group(
    "knowledge-base",
    [
        Alert(
            name="RadrefIndexDivergence",
            severity="critical",
            expr=f'max by (namespace) (radref_index_divergence{{job="{INGEST}"}}) > 0',
            hold="5m",
            summary="index and registry disagree, and it was not mended",
            description="{{ $value }} documents are not in the index as the registry has them: a withdrawn "
            "one may still be found, or an approved one not.",
        ),
        Alert(
            name="RadrefIndexNotVerified",
            severity="warning",
            # Three times the default of ingest.reconcile.interval_seconds; 0 = not since the start.
            expr=f"time() - max by (namespace) ({VERIFIED}) > 3 * 3600",
            hold="15m",
            summary="nobody has compared index and registry for hours",
            description="What finds a withdrawn document that is still searched does not run: "
            "RadrefIndexDivergence says nothing meanwhile.",
        ),
        Alert(
            name="RadrefKnowledgeBaseEmpty",
            severity="critical",
            expr=f"{INDEXED} == 0",
            hold="10m",
            summary="nothing can be found",
            description="The index holds no document. Every question is answered with an abstention.",
        ),
        Alert(
            name="RadrefKnowledgeBaseShrunk",
            severity="warning",
            expr=f"{INDEXED}\n< 0.8 * {INDEXED_AN_HOUR_AGO}",
            hold="10m",
            summary="a fifth of the documents can no longer be found",
            description="{{ $value }} documents can be found, a fifth fewer than an hour ago: withdrawn on "
            "purpose, or the index lost them.",
        ),
        Alert(
            name="RadrefIngestStuck",
            severity="critical",
            # An hour is several times the longest stage that its histogram knows (15 minutes).
            expr=(
                f"{OLDEST_JOB} > 3600\n"
                # `unless`: a worker that never finished a stage has no series to be zero.
                "unless on (namespace) sum by (namespace) "
                f'(increase(radref_ingest_stage_duration_seconds_count{{job="{INGEST}"}}[30m])) > 0'
            ),
            hold="5m",
            summary="documents wait and nothing works on them",
            description="The oldest unfinished job is {{ $value | humanizeDuration }} old and no stage of "
            "any job ended within 30 minutes. New and replaced documents do not become findable.",
        ),
        Alert(
            name="RadrefIngestBacklog",
            severity="warning",
            expr=f"{OLDEST_JOB} > 4 * 3600",
            hold="15m",
            summary="a document has waited for hours",
            description="The oldest unfinished job is {{ $value | humanizeDuration }} old: too few workers "
            "for what is handed in, or one document that fails again and again.",
        ),
    ],
)
