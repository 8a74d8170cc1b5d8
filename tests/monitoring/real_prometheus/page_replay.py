"""Serves the captured pages of Triton and vLLM as they would be scraped: before some work, then after it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.monitoring.known_metrics import PAGES

# Scrapes that see the first page: enough for a rate to have a start.
FIRST_PAGE_SCRAPES = 5


@contextmanager
def replayed(server: str) -> Iterator[str]:
    """host:port whose /metrics replays the pages of "triton" or "vllm"."""
    pages = [(PAGES / f"{server}-{when}.prom").read_bytes() for when in ("before", "after")]
    seen = 0

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            nonlocal seen
            seen += 1
            page = pages[seen > FIRST_PAGE_SCRAPES]
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *args: object) -> None:
            """A scrape a second says nothing new."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
