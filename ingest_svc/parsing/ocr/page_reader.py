"""Reading one page image with the engines of this installation."""

from __future__ import annotations

import math
from dataclasses import replace

import structlog
from PIL.Image import Image

from ingest_svc.parsing.ocr.agreement import agreement
from ingest_svc.parsing.ocr.deepseek import DeepSeekOcr, SecondReadingFailed
from ingest_svc.parsing.ocr.engine import Line, OcrEngine, confidence
from ingest_svc.parsing.ocr.layout import page_blocks
from ingest_svc.parsing.ocr.model import OcrPage
from ingest_svc.parsing.ocr.noise import without_noise
from ingest_svc.parsing.ocr.pixels import grey
from ingest_svc.parsing.ocr.reading import PageReading, read_page, unread_share
from ingest_svc.parsing.ocr.units import unsure_units, with_units
from radref.errors import DeadlineExceeded, Internal

# Above it whole words of the page are missing; the reviewer must look.
_MAX_UNREAD = 0.06
_log = structlog.get_logger()


class PageReader:
    """Reads page images one by one.

    Args:
        engine: reads every page.
        min_confidence: pages below are marked unsure, 0 to 1; so are pages with words that were passed over.
        page_timeout_seconds: wall time of the engine for one page, above 0.
        second: reads pages the engine read badly; None = nobody does.
        second_below: confidence below which a page is sent to `second`, 0 to 1.
    """

    def __init__(
        self,
        engine: OcrEngine,
        *,
        min_confidence: float,
        page_timeout_seconds: float,
        second: DeepSeekOcr | None = None,
        second_below: float = 0.0,
    ) -> None:
        self._engine = engine
        self._min_confidence = min_confidence
        self._timeout = page_timeout_seconds
        self._second = second
        self._second_below = second_below

    @property
    def name(self) -> str:
        """Name of the first engine."""
        return self._engine.name

    def read(self, image: Image, page_number: int) -> OcrPage:
        """The page, whatever happens: an engine that fails or takes too long gives an empty, unsure page.

        Args:
            image: of any mode; PDF pages rendered at about 300 dpi.
            page_number: from 1.

        Raises:
            MemoryError: the page does not fit into the worker's memory.
        """
        try:
            reading = read_page(self._engine, grey(image), self._timeout)
        except DeadlineExceeded:
            note = f"Page {page_number} was not read: it took longer than {math.ceil(self._timeout)} s."
            return OcrPage((), 0.0, 0, self.name, unsure=True, note=note, failure="PARSE_TIMEOUT")
        except Internal:
            note = f"Page {page_number} was not read: the OCR engine failed on it."
            return OcrPage((), 0.0, 0, self.name, unsure=True, note=note, failure="PARSER_CRASHED")
        lines = with_units(without_noise(reading.lines))
        sure = confidence(reading.lines) if lines else 0.0
        unread = unread_share(reading) if lines else 0.0
        unsure = bool(lines) and (sure < self._min_confidence or unread > _MAX_UNREAD)
        words = sum(len(line.words) for line in lines)
        blocks = page_blocks(lines, reading.image, page_number)
        notes: list[str] = []
        if unread > _MAX_UNREAD:
            notes.append(f"Words on page {page_number} could not be read and are missing.")
        # Of an unsure page everything is to be compared.
        if not unsure and unsure_units(lines):
            notes.append(f"A unit of measure on page {page_number} is uncertain: compare with the original.")
        page = OcrPage(blocks, sure, words, self.name, unsure=unsure, note=" ".join(notes))
        if self._second is not None and lines and sure < self._second_below:
            return _second_reading(self._second, page, reading, lines, page_number)
        return page


def _second_reading(
    second: DeepSeekOcr, page: OcrPage, reading: PageReading, lines: tuple[Line, ...], number: int
) -> OcrPage:
    """The second engine's page where it says what the first one saw; else the first one's, with a note."""
    try:
        blocks = second.read(reading.image, number)
    except SecondReadingFailed as exc:
        _log.warning("second_ocr_failed", page=number, cause=exc.cause)
        return _noted(page, f"Page {number} could not be read a second time ({exc.cause}).")
    verdict = agreement([word for line in lines for word in line.words], blocks)
    if not verdict.agrees:
        _log.warning("second_ocr_rejected", page=number, cause=verdict.cause)
        return _noted(page, f"The second reading of page {number} was not taken: {verdict.cause}.")
    words = sum(len(block.text.split()) for block in blocks)
    note = f"Page {number} was read by {second.name}: {page.engine} was unsure of it. Check its figures."
    return OcrPage(blocks, page.confidence, words, second.name, unsure=page.unsure, note=note)


def _noted(page: OcrPage, note: str) -> OcrPage:
    return replace(page, note=f"{page.note} {note}".strip())
