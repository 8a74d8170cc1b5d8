"""The row about a service's processes, the same on every dashboard."""

from __future__ import annotations

from monitoring.dashboards.board import Panel, Query, Row, Unit
from monitoring.dashboards.queries import job, selector


def process_row(name: str) -> Row:
    """CPU, memory and event loop of each pod of the service with this `job`."""
    lag = selector("radref_event_loop_lag_seconds", job(name))
    return Row(
        "Processes",
        [
            Panel(
                "CPU",
                "Cores in use, by pod.",
                Unit.CORES,
                [
                    Query(
                        f"rate({selector('process_cpu_seconds_total', job(name))}[$__rate_interval])",
                        "{{instance}}",
                    )
                ],
            ),
            Panel(
                "Memory",
                "Resident, by pod. It is flat under steady load; a steady climb is a leak.",
                Unit.BYTES,
                [Query(selector("process_resident_memory_bytes", job(name)), "{{instance}}")],
            ),
            Panel(
                "Event loop lag",
                "How late the loop woke up, the worst of the window, by pod.",
                Unit.SECONDS,
                [Query(f"max_over_time({lag}[$__rate_interval])", "{{instance}}")],
                limit=0.1,
            ),
        ],
    )
