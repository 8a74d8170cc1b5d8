"""Deletes what is older than the site keeps it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import structlog

from gateway.audit.trail import AuditTrail
from radref.errors import RadrefError

# Records live for days: an hour more or less does not matter, and an outage is over by then.
INTERVAL_SECONDS = 3600.0

log = structlog.get_logger()


async def keep_purging(trail: AuditTrail, keep: timedelta, interval: float = INTERVAL_SECONDS) -> None:
    """Purges at once and then every `interval` seconds until cancelled; outages of the store are logged."""
    while True:
        try:
            deleted = await trail.purge(datetime.now(UTC) - keep)
            if deleted:
                log.info("audit records deleted", records=deleted, older_than_days=keep.days)
        except RadrefError as exc:
            log.warning("audit records were not deleted", reason=exc.message, **exc.metadata)
        await asyncio.sleep(interval)
