"""Parsing in worker processes that may hang or die without taking the service along."""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeout
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from pebble import ProcessExpired, ProcessPool

from ingest_svc.document import ParsedDocument
from ingest_svc.parsing.docling.options import DoclingOptions
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.ocr.model import OcrPage
from ingest_svc.parsing.ocr.options import OcrOptions
from ingest_svc.parsing.time_limit import TIMED_OUT, on_own_clock, time_limit
from radref.errors import DeadlineExceeded, Internal, InvalidInput

if TYPE_CHECKING:
    from PIL.Image import Image

# A page may take this much longer than its OCR engine: turning, levelling, finding its tables, seconds.
_PAGE_MARGIN = 30.0
# A worker is replaced after this many files, so that a leaking library cannot grow for ever.
_TASKS_PER_WORKER = 50

_log = structlog.get_logger()


class ParserPool:
    """Runs `parse_file` in separate processes.

    Args:
        limits: limits of every parse; the times and `memory_bytes` are enforced on the worker.
        workers: processes, at least 1.
        ocr: how page images are read.
        docling: how Docling is run; None = it is not.
    """

    def __init__(
        self,
        limits: ParseLimits,
        workers: int = 1,
        ocr: OcrOptions | None = None,
        docling: DoclingOptions | None = None,
    ) -> None:
        self._limits = limits
        self._docling = docling
        self._ocr = ocr or OcrOptions()
        self._workers = workers
        self._closed = False
        self._pool = self._new_pool()
        self._first: asyncio.Task[ParsedDocument] | None = None

    async def check(self) -> None:
        """Starts the workers and waits until one has parsed something; afterwards returns at once.

        Raises:
            RadrefError: the worker could not; the next call tries again.
        """
        if self._first is None or (self._first.done() and self._first.exception() is not None):
            self._first = asyncio.create_task(self.parse(b"# Ready\n\nA sentence.\n", "ready.md"))
        # Shielded: a caller that gives up must not kill a worker that is still starting.
        await asyncio.shield(self._first)

    async def parse(self, source: bytes | Path, file_name: str) -> ParsedDocument:
        """Parses one file.

        Args:
            source: the bytes, or a path the worker reads itself.
            file_name: the name the user gave; its extension is compared with the content.

        Raises:
            InvalidInput: what `parse_file` raises; FILE_TOO_LARGE also when parsing needs too much memory.
            DeadlineExceeded: PARSE_TIMEOUT; the worker was killed.
            Internal: PARSER_CRASHED; the worker died. Other files are not affected.
        """
        try:
            return await self._run(source, file_name)
        except BrokenProcessPool:
            # An idle worker was killed from outside, which breaks a pebble pool for good. The file in hand
            # need not be the cause: it gets one more try, in a new pool.
            _log.error("parser_pool_broken")
        try:
            return await self._run(source, file_name)
        except BrokenProcessPool as exc:
            raise _crashed() from exc

    async def _run(self, source: bytes | Path, file_name: str) -> ParsedDocument:
        if not self._closed and not self._pool.active:
            self._pool = self._new_pool()
        future = self._pool.schedule(
            _parse_in_worker,
            args=[source, file_name, self._limits, self._ocr, self._docling],
            timeout=self._limits.max_timeout_seconds,
        )
        try:
            document: ParsedDocument = await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            # Kills the worker that runs it: nobody waits for the result.
            future.cancel()  # type: ignore[no-untyped-call]
            raise
        except (TimeoutError, FutureTimeout) as exc:
            raise _too_slow(f"more than {self._limits.max_timeout_seconds:g} s in all") from exc
        except ProcessExpired as exc:
            if exc.exitcode == TIMED_OUT:
                raise _too_slow(
                    f"more than {self._limits.timeout_seconds:g} s without reading scanned pages, or more "
                    f"than {_page_seconds(self._ocr):g} s for one of them"
                ) from exc
            _log.error("parser_crashed", exit_code=exc.exitcode)
            raise _crashed() from exc
        except MemoryError as exc:
            raise InvalidInput(
                "Parsing the file needs more memory than is allowed. Split the document.",
                reason="FILE_TOO_LARGE",
            ) from exc
        return document

    def _new_pool(self) -> ProcessPool:
        return ProcessPool(
            max_workers=self._workers,
            max_tasks=_TASKS_PER_WORKER,
            # Fork would copy the service's threads and gRPC channels in an undefined state.
            context=multiprocessing.get_context("spawn"),
            initializer=_limit_memory,
            initargs=[self._limits.memory_bytes],
        )

    async def close(self) -> None:
        """Stops the workers; running parses are cancelled."""
        self._closed = True
        self._pool.stop()  # type: ignore[no-untyped-call]
        await asyncio.to_thread(self._pool.join)


def _too_slow(measure: str) -> DeadlineExceeded:
    return DeadlineExceeded(
        f"Parsing took too long and was stopped: {measure}. Split the document or save it in a simpler form.",
        reason="PARSE_TIMEOUT",
    )


def _crashed() -> Internal:
    return Internal(
        "The parser process died on this file. Save the document again in another format.",
        reason="PARSER_CRASHED",
    )


def _limit_memory(memory_bytes: int) -> None:
    if memory_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    # No core dumps: they would hold document text.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _page_seconds(ocr: OcrOptions) -> float:
    """Wall time of one scanned page. The engines end earlier by themselves; EasyOCR cannot."""
    second = ocr.deepseek_timeout_seconds if ocr.deepseek_url and ocr.deepseek_below > 0 else 0.0
    return ocr.page_timeout_seconds + second + _PAGE_MARGIN


@lru_cache(maxsize=1)
def _ocr_reader(options: OcrOptions) -> tuple[Callable[[Image, int], OcrPage] | None, str]:
    """What reads a page image, and why nothing does; looked for once a process."""
    from ingest_svc.parsing.ocr.choose import choose_reader

    choice = choose_reader(options)
    if choice.reason:
        _log.info("ocr_engine", engine=choice.reader.name if choice.reader else "none", reason=choice.reason)
    if choice.reader is None:
        return None, choice.reason
    return on_own_clock(choice.reader.read, _page_seconds(options)), ""


def _parse_in_worker(
    source: bytes | Path,
    file_name: str,
    limits: ParseLimits,
    ocr: OcrOptions,
    docling: DoclingOptions | None,
) -> ParsedDocument:
    with time_limit(limits.timeout_seconds):
        if isinstance(source, Path):
            # Checked before reading: the file may be larger than memory.
            if source.stat().st_size > limits.max_bytes:
                raise InvalidInput(
                    f"The file is larger than the limit of {limits.max_bytes} bytes.",
                    reason="FILE_TOO_LARGE",
                    metadata={"limit_bytes": str(limits.max_bytes)},
                )
            source = source.read_bytes()
        # Here and not above: the parser libraries are needed in the worker only, the service starts without.
        from ingest_svc.parsing.parse import parse_file

        ocr_page, no_ocr = _ocr_reader(ocr)
        return parse_file(source, file_name, limits, ocr_page, docling, no_ocr)
