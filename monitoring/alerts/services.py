"""Alerts: services and what they stand on are there, and take calls."""

from __future__ import annotations

from monitoring.names import ANY_SERVICE, REFUSED, SERVICES, USER_API
from monitoring.rules import Alert, Group

# Of a bare selector, so that the alert knows which job it is about.
_NO_TARGET = "\nor ".join(f'absent(up{{job="{job}"}})' for job in SERVICES)

SERVICE_ALERTS = Group(
    "services",
    [
        Alert(
            name="RadrefServiceAbsent",
            severity="critical",
            # A service that was scaled to nothing has no target that could be 0.
            expr=f'{_NO_TARGET}\nor sum by (namespace, job) (up{{job=~"{ANY_SERVICE}"}}) == 0',
            hold="2m",
            summary="{{ $labels.job }} does not run",
            description="Prometheus reaches no pod of {{ $labels.job }}. Without it no question is answered.",
        ),
        Alert(
            name="RadrefTargetDown",
            severity="warning",
            expr=f'up{{job=~"{ANY_SERVICE}"}} == 0',
            hold="5m",
            summary="{{ $labels.job }} on {{ $labels.instance }} cannot be scraped",
            description="The admin port of {{ $labels.instance }} does not answer: the pod hangs, or "
            "Prometheus may not reach it. Until then nothing is known about it.",
        ),
        Alert(
            name="RadrefCrashLoop",
            severity="warning",
            expr=f'changes(process_start_time_seconds{{job=~"{ANY_SERVICE}"}}[30m]) >= 3',
            hold="0m",
            summary="{{ $labels.job }} on {{ $labels.instance }} starts again and again",
            description="{{ $labels.instance }} started {{ $value }} times within 30 minutes. "
            "Calls in flight at each end were lost.",
        ),
        Alert(
            name="RadrefBackendDown",
            severity="critical",
            expr="max by (namespace, job, backend) (radref_backend_up) == 0",
            hold="2m",
            summary="{{ $labels.job }} cannot reach {{ $labels.backend }}",
            description="No pod of {{ $labels.job }} gets an answer from {{ $labels.backend }}. Calls that "
            "need it fail with UNAVAILABLE.",
        ),
        Alert(
            name="RadrefBackendUnreachable",
            severity="warning",
            expr=(
                "min by (namespace, job, backend) (radref_backend_up) == 0\n"
                "and max by (namespace, job, backend) (radref_backend_up) == 1"
            ),
            hold="10m",
            summary="some pods of {{ $labels.job }} cannot reach {{ $labels.backend }}",
            description="{{ $labels.backend }} answers other pods of {{ $labels.job }}: a network policy, a "
            "node or a certificate. The share of calls that lands on the cut-off pods fails.",
        ),
        Alert(
            name="RadrefAdmissionRejecting",
            severity="warning",
            expr="sum by (namespace, job) (rate(radref_admission_rejected_total[5m])) > 0",
            hold="10m",
            summary="{{ $labels.job }} turns calls away because it is full",
            description="{{ $value | humanize }} calls a second were refused with RESOURCE_EXHAUSTED for ten "
            "minutes: more comes in than is worked off.",
        ),
        Alert(
            name="RadrefEventLoopLag",
            severity="warning",
            # The largest delay of the last minute; three such waits are the 0.3 s of a whole search.
            expr="max by (namespace, job, instance) (min_over_time(radref_event_loop_lag_seconds[5m])) > 0.1",
            hold="10m",
            summary="{{ $labels.job }} on {{ $labels.instance }} is short of CPU or blocked",
            description="In every minute its event loop was at least {{ $value | humanizeDuration }} late: "
            "every call through this pod waits for that, several times over.",
        ),
        Alert(
            name="RadrefCallersRefused",
            severity="warning",
            # Refusals are the callers' fault for the availability objective; all of them at once are ours.
            expr=(
                "sum by (namespace) (rate(radref_rpc_server_duration_seconds_count"
                f'{{service=~"{USER_API}", code=~"{REFUSED}"}}[10m]))\n'
                "/ sum by (namespace) (rate(radref_rpc_server_duration_seconds_count"
                f'{{service=~"{USER_API}"}}[10m]))\n'
                "> 0.5\n"
                "and sum by (namespace) (increase(radref_rpc_server_duration_seconds_count"
                f'{{service=~"{USER_API}"}}[10m])) >= 20'
            ),
            hold="5m",
            summary="most calls are refused by access control",
            description="{{ $value | humanizePercentage }} of the calls of the last ten minutes had no "
            "token that counts, or the wrong role: tokens or keys changed, or somebody tries doors.",
        ),
    ],
)
