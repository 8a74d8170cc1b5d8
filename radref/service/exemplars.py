"""Exemplars: which call an observation of a histogram came from."""

from __future__ import annotations

from radref.service.context import current_call
from radref.service.tracing.spans import sampled_trace_id


def exemplar(request_id: str | None = None) -> dict[str, str] | None:
    """request_id and, in a sampled trace, trace_id; None outside of a call.

    At most 114 of the 128 characters that OpenMetrics allows: `accepted_request_id` bounds the first.

    Args:
        request_id: of the call; None = of the one being served.
    """
    call = current_call()
    request_id = request_id or (call.request_id if call else None)
    trace_id = sampled_trace_id()
    labels = {"request_id": request_id, "trace_id": trace_id}
    return {name: value for name, value in labels.items() if value} or None
