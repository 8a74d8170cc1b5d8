"""The half-open range that all of chunking counts in."""

from __future__ import annotations

# [start, end): code points of a text, or items of a sequence.
Range = tuple[int, int]
