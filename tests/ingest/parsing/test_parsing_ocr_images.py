"""Image files of all kinds: modes, frames, limits, damage."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from ingest_svc.document import render
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.ocr.images import parse_image
from ingest_svc.parsing.ocr.model import OcrPage
from ingest_svc.parsing.ocr.pixels import grey
from ingest_svc.parsing.ocr.warnings import number_ranges, ocr_warnings
from radref.errors import DeadlineExceeded, InvalidInput, RadrefError
from tests.ingest.parsing.ocr_test_pages import ENGLISH, needs_tesseract, png, prose, reader, saved

LINE = ENGLISH[0]


def parsed(data: bytes, limits: ParseLimits | None = None) -> Draft:
    return parse_image(data, limits or ParseLimits(), reader().read)


def text_of(data: bytes) -> str:
    return render(parsed(data).blocks)[0]


@needs_tesseract
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF"])
def test_formats(kind: str) -> None:
    draft = parsed(saved(prose([LINE]), kind))
    assert render(draft.blocks)[0] == LINE
    assert (draft.parser, draft.pages, draft.image_share, draft.warnings) == ("tesseract", 1, 1.0, ())


@needs_tesseract
@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16"])
def test_modes(mode: str) -> None:
    image = prose([LINE])
    if mode == "I;16":
        image = Image.fromarray(np.asarray(image).astype(np.uint16) * 16)  # twelve bits of sixteen
    else:
        image = image.convert("RGB").convert(mode)
    assert text_of(saved(image, "TIFF" if mode in {"CMYK", "I;16"} else "PNG")) == LINE


@needs_tesseract
@pytest.mark.parametrize(("ink", "ground"), [(0, 0), (255, 255), (0, 255)], ids=["black", "white", "usual"])
def test_transparent_ground(ink: int, ground: int) -> None:
    """Black or white letters on a ground that is fully transparent, whatever colour stands under it."""
    letters = Image.eval(prose([LINE]), lambda value: 255 - value)
    image = Image.new("RGBA", letters.size, (ground, ground, ground, 0))
    image.paste((ink, ink, ink, 255), (0, 0), letters)
    image.putalpha(letters)
    assert text_of(png(image)) == LINE


@needs_tesseract
@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_exif_orientation(orientation: int) -> None:
    turn = {1: 0, 3: 180, 6: 90, 8: 270}[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    assert text_of(saved(prose([LINE]).rotate(turn, expand=True), "JPEG", exif=exif)) == LINE


@needs_tesseract
def test_pages_of_a_tiff() -> None:
    frames = [prose([line]) for line in ENGLISH]
    frames.insert(1, Image.new("L", (800, 600), 255))
    draft = parsed(saved(frames[0], "TIFF", save_all=True, append_images=frames[1:]))
    assert draft.pages == 4
    assert [(block.text, block.pages) for block in draft.blocks] == [
        (ENGLISH[0], (1, 1)),
        (ENGLISH[1], (3, 3)),
        (ENGLISH[2], (4, 4)),
    ]


@needs_tesseract
def test_only_the_first_frame_of_an_animation() -> None:
    frames = [prose([line]) for line in ENGLISH]
    draft = parsed(saved(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    assert render(draft.blocks)[0] == LINE
    assert draft.warnings == ("The image has 3 frames; only the first one was read.",)


def read_nothing(image: Image.Image, number: int) -> OcrPage:
    return OcrPage((), 0.0, 0, "tesseract")


def fault(data: bytes, limits: ParseLimits | None = None) -> RadrefError:
    with pytest.raises(RadrefError) as caught:
        parse_image(data, limits or ParseLimits(), read_nothing)
    return caught.value


def test_nothing_readable() -> None:
    assert fault(png(Image.new("RGB", (50, 50), "white"))).reason == "NO_TEXT"


def test_too_many_pages() -> None:
    frame = Image.new("1", (40, 40), 1)
    data = saved(frame, "TIFF", save_all=True, append_images=[frame] * 5)
    assert fault(data, ParseLimits(max_pages=5)).reason == "FILE_TOO_LARGE"
    assert fault(data, ParseLimits(max_pages=6)).reason == "NO_TEXT"


def claimed_png(width: int, height: int) -> bytes:
    """A PNG whose header claims a size that its few bytes of data do not have."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.parametrize("side", [10_001, 20_000, 2_000_000])
def test_bomb_is_refused_by_its_header(side: int) -> None:
    assert fault(claimed_png(side, 10_000)).reason == "FILE_TOO_LARGE"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_cut_files(kind: str, share: float) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (200, 200), dtype=np.uint8)
    data = saved(Image.fromarray(noise), kind)
    error = fault(data[: int(len(data) * share)])
    assert isinstance(error, InvalidInput)
    assert error.reason in {"CORRUPT_FILE", "NO_TEXT"}
    assert share > 0.1 or error.reason == "CORRUPT_FILE"


def test_no_image_at_all() -> None:
    assert fault(b"\x89PNG\r\n\x1a\nnothing of the kind").reason == "CORRUPT_FILE"


def test_errors_of_the_reader_are_no_damage() -> None:
    """Only decoding tells damage; what the reader raises keeps its own meaning."""

    def broken(image: Image.Image, number: int) -> OcrPage:
        raise ValueError("a defect of the reader")

    with pytest.raises(ValueError, match="a defect"):
        parse_image(png(Image.new("L", (40, 40), 255)), ParseLimits(), broken)


def test_timeout_of_every_page_is_no_missing_text() -> None:
    def slow(image: Image.Image, number: int) -> OcrPage:
        return OcrPage(
            (), 0.0, 0, "tesseract", unsure=True, note="Page 1 was not read.", failure="PARSE_TIMEOUT"
        )

    with pytest.raises(DeadlineExceeded) as caught:
        parse_image(png(Image.new("L", (40, 40), 255)), ParseLimits(), slow)
    assert caught.value.reason == "PARSE_TIMEOUT"


def test_grey_of_a_flat_deep_image() -> None:
    flat = Image.fromarray(np.full((30, 30), 700, dtype=np.uint16))
    assert grey(flat).getextrema() == (255, 255)


def test_warnings_name_the_pages() -> None:
    good = OcrPage((), 0.9, 10, "tesseract")
    bad = OcrPage((), 0.41, 10, "tesseract", unsure=True)
    noted = OcrPage(
        (), 0.0, 0, "tesseract", unsure=True, note="Page 9 was not read.", failure="PARSE_TIMEOUT"
    )
    assert ocr_warnings({1: good}) == ()
    assert ocr_warnings({1: good, 3: bad, 2: bad, 7: bad, 9: noted}) == (
        "Pages 2-3, 7 were read with low confidence (down to 0.41): compare with the original.",
        "Page 9 was not read.",
    )
    assert number_ranges([]) == ""
    assert len(ocr_warnings(dict.fromkeys(range(1, 100), noted))) == 21
