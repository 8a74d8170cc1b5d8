"""Text that the table model could place in no cell: Docling drops it and only logs how much."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

# docling-ibm-models 4.0 names its logger after the class; the messages hold numbers only.
_LOGGER = "MatchingPostProcessor"
_MESSAGE = "dropped from the table"


class LostCells(logging.Handler):
    """Counts the tables that lost text. Docling logs from its own threads; `emit` is called under a lock."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.tables = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.tables += _MESSAGE in str(record.msg)

    def warnings(self) -> tuple[str, ...]:
        """What the reviewer should know."""
        if not self.tables:
            return ()
        return (f"Text of {self.tables} tables fits neither their rows nor their columns and is missing.",)


@contextmanager
def lost_cells() -> Iterator[LostCells]:
    """Counts while Docling converts one document."""
    handler = LostCells()
    logger = logging.getLogger(_LOGGER)
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
