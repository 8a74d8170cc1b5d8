import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from ingest_svc.parsing import worker
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.ocr.options import OcrOptions
from ingest_svc.parsing.worker import ParserPool
from radref.errors import DeadlineExceeded, Internal, InvalidInput

# Importing the parsers in a fresh process takes about a second; the limit starts when the task does.
LIMITS = ParseLimits(timeout_seconds=60)


async def test_parses_in_another_process_and_passes_errors_on(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# Доза\n\nТекст.", encoding="utf-8")
    pool = ParserPool(LIMITS)
    try:
        document, refused = await asyncio.gather(
            pool.parse(path, "a.md"), pool.parse(b'{"a": 1}', "a.json"), return_exceptions=True
        )
        assert not isinstance(document, BaseException)
        assert document.title == "Доза"
        assert isinstance(refused, InvalidInput)
        assert refused.reason == "UNSUPPORTED_FORMAT"
        with pytest.raises(InvalidInput) as caught:
            await ParserPool.parse(pool, path, "a.pdf")
        assert caught.value.reason == "FORMAT_MISMATCH"
    finally:
        await pool.close()


async def test_timeout_kills_only_the_slow_parse() -> None:
    # A pipe nobody writes to blocks the worker for ever.
    read_end, write_end = os.pipe()
    pool = ParserPool(ParseLimits(timeout_seconds=3))
    try:
        with pytest.raises(DeadlineExceeded) as caught:
            await pool.parse(Path(f"/proc/{os.getpid()}/fd/{read_end}"), "a.md")
        assert caught.value.reason == "PARSE_TIMEOUT"
        assert (await pool.parse(b"# Next\n\nText.", "b.md")).title == "Next"
    finally:
        await pool.close()
        os.close(read_end)
        os.close(write_end)


class DiesInTheParser:
    """Ends the worker when the parser asks for its size, as a crash in a native library would."""

    def __len__(self) -> int:
        os._exit(11)


class DiesOnArrival:
    """Ends the worker before it has told the pool which task it took."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (11,)


@pytest.mark.parametrize("killer", [DiesInTheParser(), DiesOnArrival()])
async def test_dead_worker_is_reported_and_replaced(killer: Any) -> None:
    pool = ParserPool(LIMITS)
    try:
        with pytest.raises(Internal) as caught:
            await pool.parse(killer, "a.md")
        assert caught.value.reason == "PARSER_CRASHED"
        assert (await pool.parse(b"# Next\n\nText.", "b.md")).title == "Next"
    finally:
        await pool.close()


class NeedsMemory:
    """Asks for more memory than the worker may have."""

    def __len__(self) -> int:
        return len(bytearray(1 << 31))


async def test_memory_limit_refuses_the_file() -> None:
    pool = ParserPool(ParseLimits(timeout_seconds=60, memory_bytes=1 << 30))
    greedy: Any = NeedsMemory()
    try:
        with pytest.raises(InvalidInput) as caught:
            await pool.parse(greedy, "a.txt")
        assert caught.value.reason == "FILE_TOO_LARGE"
    finally:
        await pool.close()


def test_path_is_measured_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 100)
    with pytest.raises(InvalidInput):
        worker._parse_in_worker(path, "a.txt", ParseLimits(max_bytes=10), OcrOptions(), None)


async def test_check_returns_once_a_worker_has_parsed() -> None:
    pool = ParserPool(ParseLimits())
    try:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await pool.check()
        await pool.check()
        await pool.check()
    finally:
        await pool.close()
