"""The admin port: /metrics, /livez and /readyz over HTTP, in a thread of its own.

Liveness depends on nothing but our own event loop; a dead neighbour must not restart this pod. The port has
neither TLS nor tokens, and probes need it on the pod's address: it shows counts, names from the settings and
ids of requests, and no texts. No mesh and no Service may expose it (docs/observability.md).
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.exposition import choose_encoder

# A loop that has not turned for this long is stuck: the longest blocking step allowed is far shorter.
STUCK_SECONDS = 30.0
# A connection that says nothing would keep its thread for ever.
IDLE_SECONDS = 10.0


class AdminServer:
    """Serves the admin port until closed.

    Args:
        address: host:port; port 0 picks a free one.
        ready: returns (ready, what it waits for).
        registry: the metrics to show.
    """

    def __init__(
        self,
        address: str,
        ready: Callable[[], tuple[bool, list[str]]],
        registry: CollectorRegistry = REGISTRY,
    ) -> None:
        host, _, port = address.rpartition(":")
        host = host.strip("[]")
        self._registry = registry
        self._beat = time.monotonic()
        admin = self

        class Handler(BaseHTTPRequestHandler):
            timeout = IDLE_SECONDS
            # Nobody needs to know which Python this is.
            server_version, sys_version = "radref", ""

            def do_GET(self) -> None:
                status, content_type, body = admin._answer(
                    self.path.split("?")[0], self.headers.get("Accept", ""), ready
                )
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Probes every few seconds would drown the log."""

        class Server(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

        self._server = Server((host, int(port)), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="admin", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def beat(self) -> None:
        """Called by the event loop: it turns."""
        self._beat = time.monotonic()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(
        self, path: str, accept: str, ready: Callable[[], tuple[bool, list[str]]]
    ) -> tuple[int, str, bytes]:
        if path == "/metrics":
            encode, content_type = choose_encoder(accept)
            return 200, content_type, encode(self._registry)
        if path == "/livez":
            alive = time.monotonic() - self._beat < STUCK_SECONDS
            return (200, "text/plain", b"ok\n") if alive else (503, "text/plain", b"event loop is stuck\n")
        if path == "/readyz":
            is_ready, waiting = ready()
            text = "ok\n" if is_ready else f"waiting for {', '.join(waiting) or 'shutdown'}\n"
            return (200 if is_ready else 503), "text/plain", text.encode()
        return 404, "text/plain", b"try /metrics, /livez or /readyz\n"
