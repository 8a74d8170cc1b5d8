"""Limits of time, each in a process of its own that they may end."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator

import pytest
from PIL import Image

from ingest_svc.parsing.ocr.model import OcrPage
from ingest_svc.parsing.time_limit import TIMED_OUT, on_own_clock, page_limit, time_limit


def loop_for_ever() -> None:
    with time_limit(0.05):
        while True:
            pass


def loop_in_a_library() -> None:
    """One call that gives control back to Python only after hours."""
    with time_limit(0.05):
        sum(range(1 << 45))


def hang_on_a_page() -> None:
    with time_limit(600):
        on_own_clock(lambda image, number: loop(), 0.05)(Image.new("L", (1, 1)), 1)


def loop() -> OcrPage:
    while True:
        pass


def loop_after_a_page() -> None:
    """The page gives its file a few seconds, not more."""
    with time_limit(0.05):
        with page_limit(600):
            pass
        loop()


def read_three_pages() -> None:
    """Each page takes longer than the whole file may without it."""
    with time_limit(0.1):
        for _ in range(3):
            with page_limit(60):
                end = time.monotonic() + 0.15
                while time.monotonic() < end:
                    pass


def fail_and_go_on() -> None:
    """What ends early, by an error too, leaves no clock behind."""
    for fault in (ValueError, MemoryError):
        try:
            with time_limit(0.05), page_limit(0.05):
                raise fault
        except fault:
            pass
    with page_limit(60):
        pass
    end = time.monotonic() + 0.15
    while time.monotonic() < end:
        pass


ENDED = (loop_for_ever, loop_in_a_library, hang_on_a_page, loop_after_a_page)
LEFT_ALONE = (read_three_pages, fail_and_go_on)


@pytest.fixture(scope="module")
def exit_codes() -> Iterator[dict[Callable[[], None], int | None]]:
    """How each of them ended; they run at the same time."""
    context = multiprocessing.get_context("spawn")
    processes = {run: context.Process(target=run) for run in (*ENDED, *LEFT_ALONE)}
    for process in processes.values():
        process.start()
    for process in processes.values():
        process.join(120)
    yield {run: process.exitcode for run, process in processes.items()}
    for process in processes.values():
        process.kill()
        process.join()
        process.close()


@pytest.mark.parametrize("run", ENDED)
def test_ends_what_does_not_end_by_itself(
    exit_codes: dict[Callable[[], None], int | None], run: Callable[[], None]
) -> None:
    assert exit_codes[run] == TIMED_OUT


@pytest.mark.parametrize("run", LEFT_ALONE)
def test_leaves_alone_what_is_in_time(
    exit_codes: dict[Callable[[], None], int | None], run: Callable[[], None]
) -> None:
    assert exit_codes[run] == 0
