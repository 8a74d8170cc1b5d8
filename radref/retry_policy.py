"""Which calls a client makes again by itself: those that change nothing, when the service was not reached."""

from __future__ import annotations

import json

from radref.api.gateway.v1 import gateway_pb2
from radref.api.ingest.v1 import ingest_pb2

# The first and two more: a restart of a replica behind an address is covered, an outage is told soon.
ATTEMPTS = 3

_IDEMPOTENT = {
    gateway_pb2.DESCRIPTOR.services_by_name["GatewayService"].full_name: (
        # Not Generate, StreamGenerate and Consult: UNAVAILABLE may come after seconds of a model's work,
        # which nobody should pay for three times without having asked.
        *("Search", "Prompt", "GetSource", "QueryAudit", "ListFeedback"),
    ),
    # Not WatchJob: KnowledgeBase.watch_job comes back by itself, and for longer.
    ingest_pb2.DESCRIPTOR.services_by_name["IngestService"].full_name: (
        *("ListDocuments", "GetDocument", "GetPassage", "ListVersions", "DiffVersions"),
        *("ListAuditEvents", "ListWatchedFiles"),
    ),
}


def retry_options() -> tuple[tuple[str, str], ...]:
    """Channel options with the retry policy (gRPC service config). gRPC keeps within the call's deadline."""
    config = {
        "methodConfig": [
            {
                "name": [
                    {"service": service, "method": method}
                    for service, methods in _IDEMPOTENT.items()
                    for method in methods
                ],
                "waitForReady": False,
                "retryPolicy": {
                    "maxAttempts": ATTEMPTS,
                    "initialBackoff": "0.2s",
                    "maxBackoff": "2s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ]
    }
    return (("grpc.service_config", json.dumps(config)),)
