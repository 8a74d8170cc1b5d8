"""Alerts: certificates of services that keep their own (without a mesh) before they run out."""

from __future__ import annotations

from monitoring.rules import Alert, Group, Severity


def _expiry(severity: Severity, days: int) -> Alert:
    return Alert(
        name="RadrefCertificateExpiry",
        severity=severity,
        expr=(
            "min by (namespace, job, certificate) (radref_certificate_expiry_timestamp_seconds) - time()\n"
            f"< {days} * 86400"
        ),
        hold="10m",
        summary=f"certificate {{{{ $labels.certificate }}}} of {{{{ $labels.job }}}} runs out within {days} "
        f"days",
        description="It is valid for another {{ $value | humanizeDuration }}. After that the services it "
        "stands for are not talked to.",
    )


CERTIFICATE_ALERTS = Group("certificates", [_expiry("warning", 14), _expiry("critical", 3)])
