"""Log lines of DBOS as ours: JSON, one line, without tracebacks that may quote values."""

from __future__ import annotations

import logging

import structlog

_LOGGER = "dbos"
MAX_CHARACTERS = 300
# What a shutdown looks like from inside.
_EXPECTED = "Asyncio task cancelled"

log = structlog.get_logger()


class _Bridge(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        # A database error goes on with statement and values below its first line.
        first_line = record.getMessage().split("\n", 1)[0][:MAX_CHARACTERS]
        if first_line.startswith(_EXPECTED):
            return
        error = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        log.log(record.levelno, "durable jobs", note=first_line, **({"error": error} if error else {}))


def bridge_logs() -> None:
    """To be called before DBOS is made: it would print by itself otherwise."""
    logger = logging.getLogger(_LOGGER)
    if not any(isinstance(handler, _Bridge) for handler in logger.handlers):
        logger.handlers = [_Bridge()]
    logger.propagate = False
    logger.setLevel(logging.WARNING)
