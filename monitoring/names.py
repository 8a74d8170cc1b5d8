"""Names that queries take for granted: targets, methods, status codes; docs/alerts.md tells of them."""

from __future__ import annotations

# `job` of the scraped targets. The PodMonitors set it; a plain Prometheus names its scrape jobs so. With the
# prefix, because a hospital's Prometheus also scrapes other people's gateways, Tritons and vLLMs.
GATEWAY, RETRIEVAL, INFERENCE, INGEST = (
    "radref-gateway",
    "radref-retrieval",
    "radref-inference",
    "radref-ingest",
)
SERVICES = (GATEWAY, RETRIEVAL, INFERENCE, INGEST)
TRITON, VLLM = "radref-triton", "radref-vllm"
ANY_SERVICE = "|".join(SERVICES)

# `service` of radref_rpc_server_duration_seconds, as regular expressions.
GATEWAY_API = "radref[.]api[.]gateway[.].*|rest"
USER_API = "radref[.]api[.](gateway|ingest)[.].*|rest"
ANSWERING = "Generate|StreamGenerate"

# The service failed the caller. Not in it: what the caller did wrong (INVALID_ARGUMENT, NOT_FOUND,
# FAILED_PRECONDITION, UNIMPLEMENTED, UNAUTHENTICATED, PERMISSION_DENIED) or wanted (CANCELLED). An abstention
# is OK. RESOURCE_EXHAUSTED is in it: a person who is turned away is not served, whatever the reason.
FAILED = "UNKNOWN|DEADLINE_EXCEEDED|RESOURCE_EXHAUSTED|ABORTED|INTERNAL|UNAVAILABLE|DATA_LOSS"
# At the gateway it means that the evidence gate is not fitted to the models in use: nobody gets an answer.
FAILED_AT_GATEWAY = "FAILED_PRECONDITION"
REFUSED = "UNAUTHENTICATED|PERMISSION_DENIED"
