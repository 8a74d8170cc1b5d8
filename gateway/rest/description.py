"""Prints the OpenAPI description of a gateway with default settings, as docs/openapi.json holds it."""

from __future__ import annotations

import json
import sys
from typing import Any

from gateway.rest.app import create_routes
from gateway.rest.limits import SiteLimits
from gateway.settings import GatewaySettings


def default_description() -> dict[str, Any]:
    """The description with default settings; no desk is asked for it."""
    fields = GatewaySettings.model_fields
    limits = SiteLimits(
        fields["max_query_characters"].default,
        fields["models"].default,
        fields["rest_max_timeout_seconds"].default,
    )
    return create_routes(_NO_DESK, limits).openapi()


def as_text(described: dict[str, Any]) -> str:
    """The description as the file holds it."""
    return json.dumps(described, ensure_ascii=False, indent=2) + "\n"


# Routes hold the desk, the description does not look at it.
_NO_DESK: Any = None


if __name__ == "__main__":
    sys.stdout.write(as_text(default_description()))
