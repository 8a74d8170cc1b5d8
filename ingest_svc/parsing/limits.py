"""What one file may cost."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Limits of one parse; everything above is refused, nothing is cut silently.

    Attributes:
        max_bytes: size of the file, bytes.
        max_pages: pages of a PDF.
        max_expanded_bytes: sum of the unpacked parts of an archive format (docx), bytes.
        max_expansion_ratio: unpacked / packed size of an archive format. Word's XML packs 10-40 fold,
            a zip bomb 1000-fold.
        max_characters: characters of text after parsing, code points.
        timeout_seconds: wall time of one parse in the worker pool, seconds; the time of reading scanned pages
            does not count, each of them has the OCR engine's own limit and adds a few seconds here.
        max_timeout_seconds: wall time of one parse with all its scanned pages, seconds.
        memory_bytes: address space of a worker process, bytes; 0 = no limit.
    """

    max_bytes: int = 64 * MEBIBYTE
    max_pages: int = 2000
    max_expanded_bytes: int = 256 * MEBIBYTE
    max_expansion_ratio: float = 150.0
    max_characters: int = 20_000_000
    timeout_seconds: float = 120.0
    max_timeout_seconds: float = 7200.0
    memory_bytes: int = 2048 * MEBIBYTE
