"""gRPC options of a radref server: sizes, keepalive, and connections that are renewed now and then."""

from __future__ import annotations

from radref.service.channels import MAX_MESSAGE_BYTES
from radref.service.settings import ServiceSettings


def server_options(settings: ServiceSettings) -> tuple[tuple[str, int], ...]:
    """Options for grpc.aio.server."""
    options = (
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        # Two processes on one port would share its calls silently.
        ("grpc.so_reuseport", 0),
        # Pings of radref's own channels: every 30 s, also between calls.
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        # A caller whose machine is gone without a word: what runs for it is cancelled after 40 s.
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.http2.max_pings_without_data", 0),
    )
    if not settings.max_connection_age_seconds:
        return options
    return (
        *options,
        # gRPC adds up to a tenth, so that not all connections end at once.
        ("grpc.max_connection_age_ms", round(settings.max_connection_age_seconds * 1000)),
        # A call in flight goes on: as long as one may while the service drains.
        ("grpc.max_connection_age_grace_ms", round(settings.drain_grace_seconds * 1000)),
    )
