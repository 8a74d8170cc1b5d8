"""Pages of a PDF as pictures, by PDFium."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

import pypdfium2
from PIL import Image

if TYPE_CHECKING:
    from typing import Self

# Tesseract's documentation asks for 300 dpi ("Improving the quality of the output").
OCR_DPI = 300
# A0 at 300 dpi has 139 megapixels; a page that claims more than this is drawn smaller. Pixels.
MAX_PIXELS = 40_000_000
_POINTS_PER_INCH = 72


class PdfRenderer:
    """Draws pages, one at a time.

    Args:
        data: the file; one that PDFium cannot open gives no pictures (`available` is False).
    """

    def __init__(self, data: bytes) -> None:
        self._document: pypdfium2.PdfDocument | None
        try:
            self._document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError:
            self._document = None

    @property
    def available(self) -> bool:
        """PDFium could open the file."""
        return self._document is not None

    def picture(self, number: int, dpi: float = OCR_DPI, *, grey: bool = False) -> Image.Image | None:
        """Page `number` (from 1), RGB or grey, at most MAX_PIXELS; None when it cannot be drawn."""
        if self._document is None or not 1 <= number <= len(self._document):
            return None
        try:
            page = self._document[number - 1]
        except pypdfium2.PdfiumError:
            return None
        try:
            width, height = page.get_size()
            if width <= 0 or height <= 0:
                return None
            scale = min(dpi / _POINTS_PER_INCH, (MAX_PIXELS / (width * height)) ** 0.5)
            bitmap = page.render(scale=scale, grayscale=grey)
            try:
                # A copy: PIL would otherwise look into memory that PDFium frees.
                image: Image.Image = bitmap.to_pil()
                return image.convert("L" if grey else "RGB").copy()
            finally:
                bitmap.close()
        except (pypdfium2.PdfiumError, ValueError):
            return None
        finally:
            page.close()

    def close(self) -> None:
        """Frees the document."""
        if self._document is not None:
            self._document.close()
            self._document = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
