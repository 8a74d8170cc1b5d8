"""Settings of traces."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class TracingSettings(BaseModel):
    """Export of traces by OTLP over gRPC; the standard OTEL_* variables hold whatever is not set here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    endpoint: str = Field(
        default="",
        pattern=r"^(https?://.+)?$",
        description="http(s)://host:4317 of an OpenTelemetry collector inside the site; empty = "
        "OTEL_EXPORTER_OTLP_ENDPOINT, and without that no traces; needs the extra `telemetry`",
    )
    sample_share: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="share of traces that begin here and are kept, 0-1; a caller's decision goes before, "
        "and so does OTEL_TRACES_SAMPLER",
    )
