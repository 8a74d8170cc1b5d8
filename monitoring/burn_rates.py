"""Multi-window, multi-burn-rate alerts from objectives.

Windows and factors: The Site Reliability Workbook (Google, O'Reilly 2018), chapter 5 "Alerting on SLOs",
table 5-8 and section "6: Multiwindow, Multi-Burn-Rate Alerts". A burn rate of 1 uses up a 30 days' budget in
30 days. The long window says that it matters, the short one (a twelfth) that it still goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitoring.rules import Alert, Group, Recording, Severity
from monitoring.slos import Slo

# The workbook's section "Low-Traffic Services and Error Budget Alerting": at night one failed call of three
# is no incident, and a rate hides that. Fewer bad events than this in the long window alert nobody; services
# and backends that are down have alerts of their own that need no traffic.
FEWEST_BAD = 5


@dataclass(frozen=True, slots=True)
class BurnWindow:
    """One line of the workbook's table.

    Attributes:
        severity: of the alert.
        long: window, as PromQL writes it.
        seconds: length of `long`.
        short: a twelfth of it.
        factor: how many times faster than allowed.
        budget: percent of a 30 days' budget that is gone when it fires.
    """

    severity: Severity
    long: str
    seconds: int
    short: str
    factor: float
    budget: int


WINDOWS = (
    BurnWindow("critical", "1h", 3_600, "5m", 14.4, 2),
    BurnWindow("critical", "6h", 21_600, "30m", 6, 5),
    BurnWindow("warning", "1d", 86_400, "2h", 3, 10),
    BurnWindow("warning", "3d", 259_200, "6h", 1, 10),
)
# Shortest first, each once.
RATE_WINDOWS = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")
RATIO, BAD = "radref:slo_bad:ratio_rate", "radref:slo_bad:rate"


def burn_groups(slos: Sequence[Slo]) -> list[Group]:
    """Recording rules of all objectives, and their alerts."""
    return [
        Group("slo-rates", [rule for slo in slos for rule in _recordings(slo)]),
        Group("slo-burn", [_alert(slo, window) for slo in slos for window in WINDOWS]),
    ]


def ratio(slo: Slo, window: str) -> str:
    """Share of bad events in the window, recorded."""
    return f'{RATIO}{window}{{slo="{slo.key}"}}'


def _recordings(slo: Slo) -> Iterator[Recording]:
    labels = {"slo": slo.key}
    for window in RATE_WINDOWS:
        bad, total = (text.replace("WINDOW", window) for text in (slo.bad, slo.total))
        yield Recording(f"{BAD}{window}", bad, labels)
        yield Recording(
            f"{RATIO}{window}", f'{BAD}{window}{{slo="{slo.key}"}}\n/ ignoring (slo)\n{total}', labels
        )


def _alert(slo: Slo, window: BurnWindow) -> Alert:
    threshold = f"{window.factor:g} * {slo.allowed:g}"
    where = "".join(f" {{{{ $labels.{label} }}}}" for label in slo.by if label != "namespace")
    return Alert(
        name=slo.alert,
        severity=window.severity,
        expr=(
            f"{ratio(slo, window.long)} > {threshold}\n"
            f"and {ratio(slo, window.short)} > {threshold}\n"
            f'and {BAD}{window.long}{{slo="{slo.key}"}} * {window.seconds} >= {FEWEST_BAD}'
        ),
        # The windows are the delay.
        hold="0m",
        summary=f"SLO missed {window.factor:g}x faster than allowed{':' if where else ''}{where}",
        description=(
            f"Objective: {slo.title}. {{{{ $value | humanizePercentage }}}} were bad in the last "
            f"{window.long}, and it goes on: at this rate {window.budget} % of a month's budget go in "
            f"{window.long}. People {slo.users}."
        ),
        labels={"long_window": window.long, "short_window": window.short, "slo": slo.key},
    )
