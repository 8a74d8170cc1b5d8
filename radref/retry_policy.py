"""How a channel balances, and which calls it makes again by itself: those that change nothing, when the
service was not reached.

Retries end by themselves in an outage: every failure takes one of 200 tokens, a success gives a fifth back,
and below 100 nothing is made again (gRFC A6). Calls refused for load are never made again: their RetryInfo is
for the caller.
"""

from __future__ import annotations

import json
from functools import cache

from radref.api.gateway.v1 import gateway_pb2
from radref.api.inference.v1 import inference_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.api.retrieval.v1 import index_pb2, retrieval_pb2

# Of a client: a restart of a replica behind an address is covered, an outage is told soon.
ATTEMPTS = 3
# A replica that dies loses up to `max_inflight` (64) calls at a time, all to be made again; an outage must
# not double the load of what comes back: 100 attempts more, then a fifth of the successes.
_THROTTLING = {"maxTokens": 200, "tokenRatio": 0.2}
_ROUND_ROBIN: dict[str, list[dict[str, dict[str, str]]]] = {"loadBalancingConfig": [{"round_robin": {}}]}
# For servers that are not ours: balanced, and nothing made again.
BALANCED_ONLY = json.dumps(_ROUND_ROBIN)

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
    retrieval_pb2.DESCRIPTOR.services_by_name["RetrievalService"].full_name: ("Retrieve",),
    index_pb2.DESCRIPTOR.services_by_name["IndexService"].full_name: ("GetStats", "ListVersions"),
    # Not Generate, as above.
    inference_pb2.DESCRIPTOR.services_by_name["InferenceService"].full_name: (
        *("Embed", "Tokenize", "Rerank", "Describe"),
    ),
}


@cache
def service_config(attempts: int, *, health: bool) -> str:
    """The gRPC service config of a channel. gRPC keeps within the call's deadline.

    Args:
        attempts: how often a call that changes nothing is made at most, 2-5.
        health: leave out replicas that say NOT_SERVING; only where each address is one replica.
    """
    config = {
        **_ROUND_ROBIN,
        **({"healthCheckConfig": {"serviceName": ""}} if health else {}),
        "retryThrottling": _THROTTLING,
        "methodConfig": [
            {
                "name": [
                    {"service": service, "method": method}
                    for service, methods in _IDEMPOTENT.items()
                    for method in methods
                ],
                "waitForReady": False,
                "retryPolicy": {
                    "maxAttempts": attempts,
                    "initialBackoff": "0.2s",
                    "maxBackoff": "2s",
                    "backoffMultiplier": 2,
                    # CANCELLED by the server, not by the caller: what a grpc.aio server that stops does
                    # to calls that have arrived and not begun.
                    "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
                },
            }
        ],
    }
    return json.dumps(config)
