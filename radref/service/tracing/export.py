"""Sends spans to a collector, from a thread of its own: a collector that is away costs no call any time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import structlog

from radref import __version__
from radref.service.tracing.settings import TracingSettings

# A pod that stops has better things to wait for than a collector that is away.
CLOSE_SECONDS = 3.0
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")

log = structlog.get_logger()


def start_export(settings: TracingSettings, service: str) -> Callable[[], None]:
    """Starts recording and sending spans, where a collector is named.

    The queue is bounded (OTEL_BSP_MAX_QUEUE_SIZE, 2048 spans); beyond, the oldest spans are dropped.

    Args:
        settings: where to; the standard OTEL_* variables complete them.
        service: section of the settings, e.g. "gateway"; OTEL_SERVICE_NAME goes before.

    Returns:
        What sends the rest and stops, in at most CLOSE_SECONDS. Blocks: call it in a thread.

    Raises:
        ValueError: a collector is named and the extra `telemetry` is not installed.
    """
    off = os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    # The convention for "no exporter" of every OpenTelemetry SDK.
    off = off or os.environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none"
    if off or not (settings.endpoint or any(os.environ.get(name) for name in _ENDPOINTS)):
        return lambda: None
    # Only here: without traces none of this need be installed.
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
    except ImportError as exc:
        raise ValueError(
            f"traces are to be exported, but {exc.name} is not installed: install radref[telemetry], or "
            "unset tracing.endpoint and OTEL_EXPORTER_OTLP_ENDPOINT"
        ) from None

    ours = {"service.namespace": "radref", "service.name": f"radref-{service}"}
    resource = Resource.create({**ours, "service.version": __version__})
    # None = as OTEL_TRACES_SAMPLER says.
    sampler = ParentBased(TraceIdRatioBased(settings.sample_share))
    provider = TracerProvider(
        resource=resource.merge(OTELResourceDetector().detect()),
        sampler=None if os.environ.get("OTEL_TRACES_SAMPLER") else sampler,
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=settings.endpoint or None)))
    trace.set_tracer_provider(provider)
    log.info("traces are exported", sample_share=settings.sample_share)

    def close() -> None:
        # A daemon: the SDK itself would wait half a minute for a collector that is away.
        sending = threading.Thread(target=provider.shutdown, name="last spans", daemon=True)
        sending.start()
        sending.join(CLOSE_SECONDS)

    return close
