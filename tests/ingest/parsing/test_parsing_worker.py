import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest_svc.document import render
from ingest_svc.parsing import worker
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.ocr.options import OcrOptions
from ingest_svc.parsing.worker import ParserPool
from radref.errors import DeadlineExceeded, Internal, InvalidInput
from tests.ingest.parsing.ocr_test_pages import needs_tesseract, png, prose

# Importing the parsers in a fresh process takes about a second; the limit starts when the task does.
LIMITS = ParseLimits(timeout_seconds=300)


@pytest.fixture(scope="module")
def shared() -> Iterator[ParserPool]:
    """A pool whose workers may die; it reads no images."""
    pool = ParserPool(LIMITS, ocr=OcrOptions(engine="none"))
    yield pool
    asyncio.run(pool.close())


async def test_parses_in_another_process_and_passes_errors_on(shared: ParserPool, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# Доза\n\nТекст.", encoding="utf-8")
    document, refused = await asyncio.gather(
        shared.parse(path, "a.md"), shared.parse(b'{"a": 1}', "a.json"), return_exceptions=True
    )
    assert not isinstance(document, BaseException)
    assert document.title == "Доза"
    assert isinstance(refused, InvalidInput)
    assert refused.reason == "UNSUPPORTED_FORMAT"
    with pytest.raises(InvalidInput) as caught:
        await shared.parse(path, "a.pdf")
    assert caught.value.reason == "FORMAT_MISMATCH"


async def test_refused_image_says_why_it_is_not_read(shared: ParserPool) -> None:
    with pytest.raises(InvalidInput, match=r"image.*OCR is switched off in the settings\.$") as caught:
        await shared.parse(b"\x89PNG\r\n\x1a\n", "a.png")
    assert caught.value.reason == "NO_TEXT"


@needs_tesseract
async def test_reads_a_scan() -> None:
    pool = ParserPool(LIMITS, ocr=OcrOptions(page_timeout_seconds=1800))
    try:
        document = await pool.parse(png(prose(["Lead aprons"]).crop((0, 0, 600, 300))), "scan.png")
    finally:
        await pool.close()
    assert render(document.blocks)[0].endswith("Lead aprons")


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (ParseLimits(timeout_seconds=3, max_bytes=10), "without reading scanned pages"),
        (ParseLimits(timeout_seconds=600, max_timeout_seconds=3, max_bytes=10), "3 s in all"),
    ],
    ids=["own-clock", "clock-of-the-pool"],
)
async def test_timeout_kills_only_the_slow_parse(tmp_path: Path, limits: ParseLimits, told: str) -> None:
    large = tmp_path / "b.md"
    large.write_bytes(b"x" * 11)
    # A pipe nobody writes to blocks the worker for ever.
    read_end, write_end = os.pipe()
    pool = ParserPool(limits)
    try:
        with pytest.raises(DeadlineExceeded, match=told) as caught:
            await pool.parse(Path(f"/proc/{os.getpid()}/fd/{read_end}"), "a.md")
        assert caught.value.reason == "PARSE_TIMEOUT"
        # Answered before the parsers are loaded: on a busy machine that alone may take three seconds.
        with pytest.raises(InvalidInput) as refused:
            await pool.parse(large, "b.md")
        assert refused.value.reason == "FILE_TOO_LARGE"
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
async def test_dead_worker_is_reported_and_replaced(shared: ParserPool, killer: Any) -> None:
    with pytest.raises(Internal) as caught:
        await shared.parse(killer, "a.md")
    assert caught.value.reason == "PARSER_CRASHED"
    assert (await shared.parse(b"# Next\n\nText.", "b.md")).title == "Next"


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
