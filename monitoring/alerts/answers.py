"""Alerts: what people are told. No single answer is judged here, only shares that leave their own past."""

from __future__ import annotations

from monitoring.names import RETRIEVAL
from monitoring.rules import Alert, Group

# A jump is all three at once, so that neither little traffic nor a long calm makes one:
# more than three standard errors of a share of this many events (chance alone: about 1 hour in 700) ...
STANDARD_ERRORS = 3
# ... a difference that people notice ...
LEAST_DIFFERENCE = 0.1
# ... and enough events for a share to mean something.
FEWEST_EVENTS = 20


def jump(part: str, whole: str) -> str:
    """PromQL: the share of `part` in `whole` of the last hour where it jumped above that of the week before.

    Args:
        part: selector of the counters of the events in question.
        whole: selector of the counters of all events.
    """

    def share(window: str) -> str:
        return f"(sum by (namespace) (rate({part}{window})) / sum by (namespace) (rate({whole}{window})))"

    now, before = share("[1h]"), share("[1w] offset 1h")
    events = f"sum by (namespace) (increase({whole}[1h]))"
    return (
        f"{now}\n"
        f"and ({now} - {before} > {LEAST_DIFFERENCE})\n"
        f"and ({now} - {before} > {STANDARD_ERRORS} * sqrt({before} * (1 - {before}) / {events}))\n"
        f"and {events} >= {FEWEST_EVENTS}"
    )


ANSWER_ALERTS = Group(
    "answers",
    [
        Alert(
            name="RadrefAbstentionsJump",
            severity="warning",
            expr=jump('radref_answers_total{outcome="abstained"}', "radref_answers_total"),
            hold="15m",
            summary="far more questions than usual get no answer",
            description="{{ $value | humanizePercentage }} of the last hour's questions were answered with "
            "an abstention, well above the week before. No call fails, so no other alert need fire: this is "
            "what a fault of the knowledge base looks like.",
        ),
        Alert(
            name="RadrefCitationsStrippedJump",
            severity="warning",
            expr=jump('radref_citations_total{result=~"unknown|misquoted"}', "radref_citations_total"),
            hold="15m",
            summary="the generator cites what it was not given, more than usual",
            description="{{ $value | humanizePercentage }} of the last hour's citations were taken out by "
            "the validator, well above the week before. Nobody saw them, but answers are shorter or "
            "abstained.",
        ),
        Alert(
            name="RadrefSearchDegraded",
            severity="warning",
            expr=(
                "sum by (namespace) (rate(radref_degraded_total[10m]))\n"
                "/ sum by (namespace) (rate(radref_rpc_server_duration_seconds_count"
                f'{{job="{RETRIEVAL}", method="Retrieve"}}[10m]))\n'
                "> 0.05"
            ),
            hold="10m",
            summary="searches are answered without one of their legs",
            description="{{ $value | humanizePercentage }} of the searches of the last ten minutes lacked "
            "the dense or the BM25 leg. Answers carry a notice, and miss passages.",
        ),
        Alert(
            name="RadrefAuditWritesFailing",
            severity="critical",
            expr="sum by (namespace) (increase(radref_audit_failures_total[10m])) > 0",
            hold="0m",
            summary="the audit store does not take what it must keep",
            description="{{ $value | humanize }} writes of the last ten minutes failed. Where the audit is "
            "required, questions fail with it; where it is not, who asked what is not on record.",
        ),
    ],
)
