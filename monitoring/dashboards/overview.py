"""For whoever is paged: are people served, is an objective in danger, and which part is it."""

from __future__ import annotations

from monitoring.alerts.knowledge_base import INDEXED
from monitoring.burn_rates import RATIO
from monitoring.dashboards.board import Board, Panel, Query, Row, Unit
from monitoring.dashboards.queries import RPC, percentile, percentiles, rate, selector
from monitoring.names import ANSWERING, ANY_SERVICE, GATEWAY_API, USER_API
from monitoring.slos import SLOS

_ALLOWED = {slo.key: slo.allowed for slo in SLOS}
_USER_CALLS = f'service=~"{USER_API}"'
_SERVICES = f'job=~"{ANY_SERVICE}"'
_AVAILABILITY = 'slo="availability"'
_ANSWERS = (f'service=~"{GATEWAY_API}"', f'method=~"{ANSWERING}"', 'code="OK"')


def _burn(key: str, window: str) -> str:
    """How many times faster than allowed the budget goes."""
    series = selector(f"{RATIO}{window}", f'slo="{key}"')
    return f"max ({series}) / {_ALLOWED[key]:g}"


def _burn_panel(key: str, title: str) -> Panel:
    windows = ("5m", "1h", "6h", "3d")
    return Panel(
        f"Burn rate: {title}",
        "How many times faster than allowed the month's budget goes; 1 uses it up in exactly 30 days. Paged "
        "from 14.4 in 1h and 6 in 6h on. The method that is worst off counts.",
        Unit.COUNT,
        [Query(_burn(key, window), window) for window in windows],
        limit=1,
    )


OVERVIEW_BOARD = Board(
    "radref-overview",
    "Overview",
    "Are people served, is an objective in danger, and which part is it. Start here when you are paged.",
    [
        Row(
            "Are people served now?",
            [
                Panel(
                    "Services up",
                    "Services of which at least one pod answers Prometheus; there are four.",
                    Unit.COUNT,
                    [
                        Query(
                            f"count(sum by (job) ({selector('up', _SERVICES)}) > 0)",
                            "services",
                        )
                    ],
                    kind="stat",
                    limit=4,
                    bad_below=True,
                ),
                Panel(
                    "Calls",
                    "Calls to the gateway and to ingest, gRPC and REST.",
                    Unit.CALLS_PER_SECOND,
                    [Query(rate(f"{RPC}_count", _USER_CALLS), "calls")],
                    kind="stat",
                ),
                Panel(
                    "Failing, last hour",
                    "Worst method's share of calls that the service failed, as the availability objective "
                    "counts them: 0.5 % is allowed.",
                    Unit.SHARE,
                    [Query(f"max({selector(f'{RATIO}1h', _AVAILABILITY)})", "failing")],
                    kind="stat",
                    limit=_ALLOWED["availability"],
                ),
                Panel(
                    "First statement, p95",
                    "95 % of the answers of the last minutes showed their first checked statement this fast. "
                    "Objective: 1.5 s.",
                    Unit.SECONDS,
                    [Query(percentile(95, "radref_time_to_first_statement_seconds"), "p95")],
                    kind="stat",
                    limit=1.5,
                ),
                Panel(
                    "Whole answer, p95",
                    "95 % of the answers of the last minutes were complete this fast. Objective: 10 s.",
                    Unit.SECONDS,
                    [Query(percentile(95, RPC, *_ANSWERS), "p95")],
                    kind="stat",
                    limit=10,
                ),
                Panel(
                    "Documents that can be found",
                    "Active documents of all topics in the index.",
                    Unit.COUNT,
                    [Query(f"sum({INDEXED})", "documents")],
                    kind="stat",
                    limit=1,
                    bad_below=True,
                ),
            ],
        ),
        Row(
            "Is an objective in danger?",
            [
                _burn_panel("availability", "availability 99.5 %"),
                _burn_panel("retrieval", "search in 0.3 s"),
                _burn_panel("first-statement", "first statement in 1.5 s"),
                _burn_panel("answer", "answer in 10 s"),
            ],
        ),
        Row(
            "What do people meet?",
            [
                Panel(
                    "Calls by method",
                    "What is asked for.",
                    Unit.CALLS_PER_SECOND,
                    [Query(rate(f"{RPC}_count", _USER_CALLS, by="method"), "{{method}}")],
                    stacked=True,
                ),
                Panel(
                    "Calls that did not end OK",
                    "By status code. INVALID_ARGUMENT, NOT_FOUND, UNAUTHENTICATED and CANCELLED are the "
                    "callers'; UNAVAILABLE, INTERNAL, DEADLINE_EXCEEDED and RESOURCE_EXHAUSTED are ours.",
                    Unit.CALLS_PER_SECOND,
                    [Query(rate(f"{RPC}_count", _USER_CALLS, 'code!="OK"', by="code"), "{{code}}")],
                    stacked=True,
                ),
                Panel(
                    "Answers",
                    "Time to the whole answer. Objective: p95 at most 10 s.",
                    Unit.SECONDS,
                    percentiles(RPC, *_ANSWERS),
                    limit=10,
                    exemplars=True,
                ),
                Panel(
                    "Questions by outcome",
                    "An abstention is a correct answer where the knowledge base holds none. A jump is a "
                    "fault.",
                    Unit.CALLS_PER_SECOND,
                    [Query(rate("radref_answers_total", by="outcome"), "{{outcome}}")],
                    stacked=True,
                ),
            ],
        ),
        Row(
            "Which part is it?",
            [
                Panel(
                    "Backends reachable",
                    "1: every pod of the service gets an answer from it; 0: at least one does not.",
                    Unit.UP,
                    [
                        Query(
                            f"min by (job, backend) ({selector('radref_backend_up')})",
                            "{{job}} -> {{backend}}",
                        )
                    ],
                ),
                Panel(
                    "Pods scraped",
                    "Pods that answer Prometheus, by service.",
                    Unit.COUNT,
                    [Query(f"sum by (job) ({selector('up')})", "{{job}}")],
                ),
                Panel(
                    "Calls refused because full",
                    "Admission control at work: more comes in than is worked off.",
                    Unit.CALLS_PER_SECOND,
                    [Query(rate("radref_admission_rejected_total", by="job"), "{{job}}")],
                ),
                Panel(
                    "Days until certificates run out",
                    "Certificates that services read themselves; with a mesh there are none. Renewed in "
                    "time they never come below 14.",
                    Unit.DAYS,
                    [
                        Query(
                            "(min by (job, certificate) "
                            f"({selector('radref_certificate_expiry_timestamp_seconds')}) - time()) / 86400",
                            "{{job}} {{certificate}}",
                        )
                    ],
                    limit=14,
                    bad_below=True,
                ),
                Panel(
                    "Audit writes that failed",
                    "Must be 0.",
                    Unit.PER_SECOND,
                    [Query(rate("radref_audit_failures_total", by="job"), "{{job}}")],
                ),
                Panel(
                    "Event loop lag",
                    "How late a pod's event loop woke up, the worst of the window. Long ones are missing "
                    "CPU or blocking code, and make every call slower.",
                    Unit.SECONDS,
                    [
                        Query(
                            f"max by (job) (max_over_time({selector('radref_event_loop_lag_seconds')}"
                            "[$__rate_interval]))",
                            "{{job}}",
                        )
                    ],
                    limit=0.1,
                ),
            ],
        ),
    ],
)
