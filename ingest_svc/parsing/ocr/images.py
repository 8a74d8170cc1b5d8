"""Image files: PNG, JPEG, TIFF and BigTIFF (also of many pages), WebP, BMP, GIF, JPEG 2000, AVIF."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from PIL import Image

from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.ocr.model import OcrPage
from ingest_svc.parsing.ocr.warnings import ocr_warnings
from ingest_svc.parsing.refusals import nothing_legible
from radref.errors import DeadlineExceeded, Internal, InvalidInput

OcrPageReader = Callable[[Image.Image, int], OcrPage]

_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF", "JPEG2000", "AVIF")
# An A2 sheet at 400 dpi has 62 million pixels; decoded they take 4 bytes each in the worker.
MAX_PIXELS = 100_000_000
# Group 3 faxes have 204 by 98 pixels an inch (ITU-T T.4); anything beyond is a wrong header.
_UNEQUAL = 1.1
_MAX_UNEQUAL = 3.0
# Pillow 13 looks for the version in the byte where only little-endian files have it.
_BIG_ENDIAN_BIGTIFF = b"MM\x00+"
_SUBFILE_TYPE = 254
_PREVIEW = 1


def parse_image(data: bytes, limits: ParseLimits, ocr_page: OcrPageReader) -> Draft:
    """Reads an image file; every frame of a TIFF is a page, of other formats the first frame is the only one.

    Args:
        data: the file.
        limits: `max_pages` bounds the pages of a TIFF.
        ocr_page: reads one page image; its number counts from 1.

    Raises:
        InvalidInput: FILE_TOO_LARGE (pixels or pages), CORRUPT_FILE, UNSUPPORTED_FORMAT (big-endian BigTIFF),
            NO_TEXT when no page holds any text.
        DeadlineExceeded: PARSE_TIMEOUT, no page could be read in time.
        Internal: PARSER_CRASHED, the OCR engine failed on every page.
    """
    if data.startswith(_BIG_ENDIAN_BIGTIFF):
        raise InvalidInput(
            "The image is a BigTIFF of big-endian byte order, which this installation does not read. "
            "Save it as an ordinary TIFF or as PDF and send that.",
            reason="UNSUPPORTED_FORMAT",
        )
    extra: list[str] = []
    pages = {
        number: ocr_page(frame, number) for number, frame in enumerate(_frames(data, limits, extra), start=1)
    }
    blocks = tuple(block for page in pages.values() for block in page.blocks)
    if not blocks:
        raise _nothing_read(pages)
    engines = dict.fromkeys(page.engine for page in pages.values() if page.engine)
    return Draft(
        blocks,
        "+".join(engines),
        title=_title(blocks),
        pages=len(pages),
        image_share=1.0,
        warnings=(*extra, *ocr_warnings(pages)),
    )


@contextmanager
def _decoding() -> Iterator[None]:
    """What Pillow's decoders raise on damaged files becomes CORRUPT_FILE."""
    try:
        with warnings.catch_warnings():
            # Our own bound comes first and says more.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            yield
    except Image.DecompressionBombError:
        raise _too_many_pixels() from None
    except (
        OSError, SyntaxError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError,
        RuntimeError, struct.error, zlib.error,
    ) as exc:  # fmt: skip
        raise InvalidInput(
            "The image is damaged and cannot be read. Open it in an image program, save it and resend it.",
            reason="CORRUPT_FILE",
        ) from exc


def _frames(data: bytes, limits: ParseLimits, extra: list[str]) -> Iterator[Image.Image]:
    with _decoding():
        image = Image.open(io.BytesIO(data), formats=_FORMATS)
        frames = getattr(image, "n_frames", 1)
    with image:
        if image.format != "TIFF":
            if frames > 1:
                extra.append(f"The image has {frames} frames; only the first one was read.")
            frames = 1
        if frames > limits.max_pages:
            raise InvalidInput(
                f"The image has {frames} pages, more than the limit of {limits.max_pages}. Split it.",
                reason="FILE_TOO_LARGE",
                metadata={"limit_pages": str(limits.max_pages)},
            )
        for at in range(frames):
            with _decoding():
                image.seek(at)
                preview = at > 0 and _is_preview(image)
            if preview:
                continue
            # Before decoding: the header alone tells.
            if image.width * image.height > MAX_PIXELS:
                raise _too_many_pixels()
            with _decoding():
                image.load()
            yield _square(image)


def _square(image: Image.Image) -> Image.Image:
    """The image with as many pixels an inch across as down; faxes have twice as many across."""
    across, down = (float(value) for value in image.info.get("dpi", (0, 0)))
    if across <= 0 or down <= 0 or not _UNEQUAL < max(across, down) / min(across, down) < _MAX_UNEQUAL:
        return image
    side = max(across, down)
    width, height = round(image.width * side / across), round(image.height * side / down)
    if width * height > MAX_PIXELS:
        return image
    plain = image.convert("L") if image.mode in {"1", "P"} else image
    return plain.resize((width, height), Image.Resampling.BICUBIC)


def _is_preview(image: Image.Image) -> bool:
    """A smaller copy of another page of the TIFF (TIFF 6.0, NewSubfileType, bit 0)."""
    tags = getattr(image, "tag_v2", {})
    subfile = tags.get(_SUBFILE_TYPE, 0)
    return isinstance(subfile, int) and bool(subfile & _PREVIEW)


def _too_many_pixels() -> InvalidInput:
    return InvalidInput(
        f"The image has more than {MAX_PIXELS // 1_000_000} million pixels. Scan it at 300 dpi or split it.",
        reason="FILE_TOO_LARGE",
        metadata={"limit_pixels": str(MAX_PIXELS)},
    )


def _nothing_read(pages: dict[int, OcrPage]) -> InvalidInput | DeadlineExceeded | Internal:
    failures = {page.failure for page in pages.values()}
    if "PARSE_TIMEOUT" in failures:
        return DeadlineExceeded(
            "Reading the image took too long and was stopped. Scan it at 300 dpi or split it.",
            reason="PARSE_TIMEOUT",
        )
    if "PARSER_CRASHED" in failures:
        return Internal("The OCR engine failed on the image.", reason="PARSER_CRASHED")
    return nothing_legible("the image")


def _title(blocks: tuple[Block, ...]) -> str:
    first = next((block for block in blocks if block.kind is BlockKind.HEADING), None)
    return first.text.lstrip("# ") if first is not None and first.level == 1 else ""
