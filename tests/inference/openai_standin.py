"""A stand-in for a model server: HTTP/1.1 and SSE by hand, so that it can misbehave at any byte."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Exchange:
    """One request and the means to answer it, well or badly."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    writer: asyncio.StreamWriter
    streaming: bool = False

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    async def answer(
        self,
        status: int,
        body: object,
        headers: Mapping[str, str] | None = None,
        kind: str = "application/json",
    ) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = {"content-type": kind, "content-length": str(len(content)), **(headers or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.writer.write(f"HTTP/1.1 {status} Status\r\n{head}\r\n".encode() + content)
        await self.writer.drain()

    async def begin(self) -> None:
        """The head of a stream."""
        self.streaming = True
        self.writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        await self.writer.drain()

    async def raw(self, content: bytes) -> None:
        self.writer.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        await self.writer.drain()

    async def event(self, data: object) -> None:
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        await self.raw(f"data: {text}\n\n".encode())

    async def content(self, *texts: str) -> None:
        for text in texts:
            await self.event(chunk(content=text))

    async def end(self, finish: str | None = "stop", usage: tuple[int, int] | None = (7, 3)) -> None:
        """Finish reason, usage and the end of the stream, as vLLM sends them."""
        if finish is not None:
            await self.event(chunk(finish=finish, content=""))
        if usage is not None:
            counts = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
            await self.event({"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": counts})
        await self.event("[DONE]")
        await self.close_stream()

    async def close_stream(self) -> None:
        """A proper end of the HTTP body, whatever stood in it."""
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()
        self.streaming = False

    def cut(self) -> None:
        """Ends the connection without a word."""
        self.writer.transport.abort()

    async def hang(self) -> None:
        """Says nothing more until the client goes."""
        await asyncio.Event().wait()


def chunk(*, finish: str | None = None, **delta: object) -> dict[str, object]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


Script = Callable[[Exchange], Awaitable[None]]


@dataclass(slots=True)
class Standin:
    """A server that answers each request with the script of its path.

    Attributes:
        scripts: what to do, by path; several in a list are used one after another, the last one stays.
        seen: requests so far.
        open_requests: requests being answered; a client that went away ends its own.
        aborted: requests whose client went away before the script was through.
    """

    scripts: dict[str, list[Script]] = field(default_factory=dict)
    seen: list[Exchange] = field(default_factory=list)
    open_requests: int = 0
    aborted: int = 0
    port: int = 0
    scheme: str = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def on(self, path: str, *scripts: Script) -> None:
        self.scripts[path] = list(scripts)

    async def idle(self) -> None:
        """Returns when no request is open any more."""
        async with asyncio.timeout(10):
            while self.open_requests:
                await asyncio.sleep(0.01)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (exchange := await _request(reader, writer)) is not None:
                self.seen.append(exchange)
                await self._run(exchange, reader)
                if writer.is_closing():
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _run(self, exchange: Exchange, reader: asyncio.StreamReader) -> None:
        scripts = self.scripts.get(exchange.path)
        if not scripts:
            await exchange.answer(404, {"detail": "Not Found"})
            return
        script = scripts.pop(0) if len(scripts) > 1 else scripts[0]
        self.open_requests += 1
        work = asyncio.ensure_future(script(exchange))
        # The client sends nothing while it waits: what can be read is its end of the connection closing.
        gone = asyncio.ensure_future(_closed(reader))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                self.aborted += 1
                work.cancel()
            try:
                with suppress(asyncio.CancelledError):
                    await work
            except ConnectionError:  # the script noticed first
                self.aborted += 1
        finally:
            gone.cancel()
            with suppress(asyncio.CancelledError):
                await gone
            self.open_requests -= 1


async def _closed(reader: asyncio.StreamReader) -> None:
    # Looks without taking: the next request of a connection that stays must not lose its first bytes.
    # A connection that was reset shows as an exception, not as an end.
    while not (reader.at_eof() or reader.exception() or reader._buffer):  # type: ignore[attr-defined]
        await asyncio.sleep(0.005)


async def _request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Exchange | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Exchange(method, path, headers, body, writer)


@asynccontextmanager
async def standin(tls: ssl.SSLContext | None = None) -> AsyncIterator[Standin]:
    """A stand-in on a free port; ended with its connections."""
    made = Standin(scheme="https" if tls else "http")
    running: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running[task] = writer
        try:
            await made.serve(reader, writer)
        finally:
            del running[task]

    server = await asyncio.start_server(connection, "127.0.0.1", 0, ssl=tls, limit=2**24)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        tasks = list(running)
        for writer in running.values():
            writer.transport.abort()
        await asyncio.gather(*tasks)
        await server.wait_closed()
