"""Bounds of HTTP requests: fixed ones and those of the site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# A question of 4,000 characters has at most 16 kB, full filters in Latin letters 27 kB. Bodies are read
# before anybody is asked who they are, so this bounds what strangers can make us hold.
MAX_BODY_BYTES: Final = 64 * 1024
# A body is one or two packets. Who sends slower holds a connection, not a place of admission.
READ_SECONDS: Final = 10.0
# As long as the gRPC client waits by default (radref.client).
DEFAULT_TIMEOUT_SECONDS: Final = 60
# Whole seconds from 1, as Retry-After counts them.
TIMEOUT_PATTERN: Final = "^[1-9][0-9]{0,4}$"


@dataclass(frozen=True, slots=True)
class SiteLimits:
    """Settings of the site that the OpenAPI description publishes; the desk checks the first two.

    Attributes:
        max_query_characters: longest question.
        models: generators a caller may name.
        max_timeout: longest deadline, seconds; a longer Request-Timeout is shortened to it.
    """

    max_query_characters: int
    models: tuple[str, ...]
    max_timeout: int
