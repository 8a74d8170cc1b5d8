"""What the reviewer should know about pages that were read from images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingest_svc.parsing.ocr.model import OcrPage

# A thousand bad pages are one problem, not a thousand warnings.
_MAX_NOTES = 20


def ocr_warnings(pages: Mapping[int, OcrPage]) -> tuple[str, ...]:
    """Warnings of a document.

    Args:
        pages: the pages that were read from images, by page number from 1.
    """
    warnings: list[str] = []
    unsure = sorted(number for number, page in pages.items() if page.unsure and not page.failure)
    if unsure:
        least = min(pages[number].confidence for number in unsure)
        word = "Page" if len(unsure) == 1 else "Pages"
        was = "was" if len(unsure) == 1 else "were"
        warnings.append(
            f"{word} {number_ranges(unsure)} {was} read with low confidence (down to {least:.2f}): "
            "compare with the original."
        )
    notes = [pages[number].note for number in sorted(pages) if pages[number].note]
    warnings.extend(notes[:_MAX_NOTES])
    if len(notes) > _MAX_NOTES:
        warnings.append(f"{len(notes) - _MAX_NOTES} more pages have notes of this kind.")
    return tuple(warnings)


def number_ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers as text: [1, 2, 3, 7] becomes "1-3, 7"."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
