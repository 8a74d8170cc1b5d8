"""The time limit of a parser process, kept by the kernel.

A timer whose signal nobody handles ends the process whatever it does, also inside a library that never gives
control back to Python. Reading a page from its picture takes as long as a hundred pages of text, so those
pages run on clocks of their own while the clock of the file stands still: the time of a file grows with its
scanned pages, an endless loop is ended, and a page that hangs is ended too.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

    from ingest_svc.parsing.ocr.model import OcrPage

# How a process ends whose time is up, as multiprocessing tells it (minus the signal).
TIMED_OUT = -signal.SIGALRM
# What every scanned page adds to the clock of its file, for drawing it before and placing it after: 0.2 s for
# A4 at 300 dpi (measured on an idle core), several times that on a busy machine.
_SECONDS_AROUND_A_PAGE = 3.0


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Ends this process by SIGALRM when the block has run for `seconds` (> 0) outside of `page_limit`.

    Main thread of a process only.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    # A new process has the mask of the thread that started it.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def page_limit(seconds: float) -> Iterator[None]:
    """Inside of `time_limit`: its clock stands still, and the block itself may run for `seconds` (> 0)."""
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        # No clock ran before: none runs after.
        signal.setitimer(signal.ITIMER_REAL, left + _SECONDS_AROUND_A_PAGE if left else 0)


def on_own_clock(read: Callable[[Image, int], OcrPage], seconds: float) -> Callable[[Image, int], OcrPage]:
    """`read`, each page of it within `page_limit(seconds)`."""

    def timed(image: Image, number: int) -> OcrPage:
        with page_limit(seconds):
            return read(image, number)

    return timed
