"""A web site on the loopback whose pages the test sets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.ingest.source_watch.web_site import Page, Site


@pytest.fixture
def site() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            page = made.pages.get(self.path, Page(status=404))
            etag = page.headers.get("ETag")
            status = 304 if etag and self.headers.get("If-None-Match") == etag else page.status
            self.send_response(status)
            for name, value in page.headers.items():
                self.send_header(name, value)
            body = page.body if status == 200 else b""
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Site(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join()
