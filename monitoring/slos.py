"""The service level objectives: what counts, what counts as bad, and how much of it is allowed.

A latency objective "p95 <= 1.5 s" is "at most 5 % are slower than 1.5 s": shares can be added up over pods
and windows, percentiles cannot. Bounds are bucket limits of the histograms, so the shares are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from monitoring.names import ANSWERING, FAILED, FAILED_AT_GATEWAY, GATEWAY_API, USER_API

CALLS = "radref_rpc_server_duration_seconds"


@dataclass(frozen=True, slots=True)
class Slo:
    """An objective over a month.

    Attributes:
        key: value of the label `slo`.
        alert: name of its alert.
        title: in a sentence, for people.
        allowed: share of events that may be bad, 0..1.
        total: PromQL of events a second; WINDOW stands for the window.
        bad: the same of bad events.
        by: labels that are kept: each combination has its own budget.
        users: what people meet when it is missed.
    """

    key: str
    alert: str
    title: str
    allowed: float
    total: str
    bad: str
    by: tuple[str, ...]
    users: str


def _slower_than(bound: str, metric: str, matchers: str = "") -> tuple[str, str]:
    """(events a second, those of them that took longer than `bound`)."""
    within = f'le="{bound}"' + (f", {matchers}" if matchers else "")
    selector = f"{{{matchers}}}" if matchers else ""
    total = f"sum by (namespace) (rate({metric}_count{selector}[WINDOW]))"
    return total, f"{total} - sum by (namespace) (rate({metric}_bucket{{{within}}}[WINDOW]))"


_BY_METHOD = ("namespace", "service", "method")
_CALL_SUM = "sum by (namespace, service, method)"
_ALL_CALLS = f'{_CALL_SUM} (rate({CALLS}_count{{service=~"{USER_API}"}}[WINDOW]))'
_FAILED_CALLS = (
    f"{_CALL_SUM} (\n"
    f'  rate({CALLS}_count{{service=~"{USER_API}", code=~"{FAILED}"}}[WINDOW])\n'
    f'  or rate({CALLS}_count{{service=~"{GATEWAY_API}", code="{FAILED_AT_GATEWAY}"}}[WINDOW])\n'
    ")"
)
_RETRIEVAL = _slower_than("0.3", "radref_stage_duration_seconds", 'stage="retrieval"')
_FIRST_STATEMENT = _slower_than("1.5", "radref_time_to_first_statement_seconds")
_ANSWER = _slower_than("10.0", CALLS, f'service=~"{GATEWAY_API}", method=~"{ANSWERING}", code="OK"')

SLOS = (
    Slo(
        key="availability",
        alert="RadrefAvailabilityBurn",
        title="99.5 % of the calls of each user-facing method are served; an abstention is served",
        allowed=0.005,
        total=_ALL_CALLS,
        # A method that never failed has no series of failures, but its share is 0, not unknown.
        bad=f"{_FAILED_CALLS}\nor 0 * {_ALL_CALLS}",
        by=_BY_METHOD,
        users="get an error instead of an answer",
    ),
    Slo(
        key="retrieval",
        alert="RadrefRetrievalLatencyBurn",
        title="95 % of searches, reranking included, take at most 0.3 s",
        allowed=0.05,
        total=_RETRIEVAL[0],
        bad=_RETRIEVAL[1],
        by=("namespace",),
        users="wait for their sources",
    ),
    Slo(
        key="first-statement",
        alert="RadrefFirstStatementLatencyBurn",
        title="95 % of answers show their first checked statement within 1.5 s",
        allowed=0.05,
        total=_FIRST_STATEMENT[0],
        bad=_FIRST_STATEMENT[1],
        by=("namespace",),
        users="look at an empty answer",
    ),
    Slo(
        key="answer",
        alert="RadrefAnswerLatencyBurn",
        title="95 % of answers are complete within 10 s",
        allowed=0.05,
        total=_ANSWER[0],
        bad=_ANSWER[1],
        by=("namespace",),
        users="wait for the end of an answer",
    ),
)
