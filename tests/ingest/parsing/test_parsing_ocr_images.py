"""Image files of all kinds: modes, frames, limits, damage."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.file_format import FileFormat
from ingest_svc.parsing.formats import detect_binary
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.ocr.images import parse_image
from ingest_svc.parsing.ocr.model import OcrPage
from ingest_svc.parsing.ocr.pixels import grey, ink
from ingest_svc.parsing.ocr.warnings import number_ranges, ocr_warnings
from radref.errors import DeadlineExceeded, InvalidInput, RadrefError
from tests.ingest.parsing.ocr_test_pages import ENGLISH, needs_tesseract, png, prose, reader, saved

LINE = ENGLISH[0]


@pytest.fixture(scope="module")
def page() -> Image.Image:
    return prose([LINE]).crop((0, 0, 2000, 300))


def frames(data: bytes) -> tuple[list[Image.Image], Draft]:
    """What an OCR engine is given, made grey, and the draft."""
    given: list[Image.Image] = []

    def read(image: Image.Image, number: int) -> OcrPage:
        given.append(grey(image))
        return OcrPage((Block(BlockKind.PARAGRAPH, str(number), 0, (number, number)),), 0.9, 1, "engine")

    draft = parse_image(data, ParseLimits(), read)
    return given, draft


def same_ink(one: Image.Image, other: Image.Image) -> bool:
    """The letters lie in the same places, dark on light or light on dark; their edges may be blurred."""
    if one.size != other.size:
        return False
    first, second = ink(one), ink(other)
    return float((first & second).sum()) > 0.9 * float((first | second).sum())


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF", "JPEG2000", "AVIF"])
def test_formats(page: Image.Image, kind: str) -> None:
    data = saved(page, kind)
    (given,), draft = frames(data)
    assert same_ink(given, page)
    assert (draft.parser, draft.pages, draft.image_share, draft.warnings) == ("engine", 1, 1.0, ())
    assert detect_binary(data) is FileFormat.IMAGE


def tiff(image: Image.Image, order: str, big: bool) -> bytes:
    """An uncompressed grey TIFF (revision 6.0) or BigTIFF (64-bit offsets) of one strip."""
    mark, offset, count = ("<", ">")[order == "MM"], "QI"[not big], "QH"[not big]
    header = struct.pack(f"{mark}2sHHHQ", order.encode(), 43, 8, 0, 16) if big else struct.pack(
        f"{mark}2sHI", order.encode(), 42, 8
    )  # fmt: skip
    tags = {256: image.width, 257: image.height, 258: 8, 259: 1, 262: 1, 273: 0, 277: 1, 278: image.height}
    tags[279] = image.width * image.height
    length = struct.calcsize(f"{mark}{count}") + len(tags) * (20 if big else 12) + (8 if big else 4)
    tags[273] = len(header) + length
    # Every value as LONG, which stands in the first bytes of its field.
    entries = b"".join(
        struct.pack(f"{mark}HH{offset}I", tag, 4, 1, value) + bytes(4 * big) for tag, value in tags.items()
    )
    directory = struct.pack(f"{mark}{count}", len(tags)) + entries + bytes(8 if big else 4)
    return header + directory + image.tobytes()


@pytest.mark.parametrize(("order", "big"), [("II", False), ("MM", False), ("II", True)])
def test_byte_orders_of_tiff(page: Image.Image, order: str, big: bool) -> None:
    data = tiff(page, order, big)
    assert detect_binary(data) is FileFormat.IMAGE
    (given,), _ = frames(data)
    assert same_ink(given, page)


@pytest.mark.parametrize("mode", ["1", "L"])
def test_fax_with_pixels_that_are_no_squares(page: Image.Image, mode: str) -> None:
    flat = page.resize((page.width, page.height // 2)).convert(mode)
    (given,), _ = frames(saved(flat, "TIFF", dpi=(204, 102)))
    assert given.size == page.size
    (given,), _ = frames(saved(flat, "TIFF", dpi=(204, 204)))
    assert given.size == flat.size
    # A header that cannot be right.
    (given,), _ = frames(saved(flat, "TIFF", dpi=(2040, 1)))
    assert given.size == flat.size


def test_big_tiff_of_the_other_byte_order_is_no_damage(page: Image.Image) -> None:
    data = tiff(page, "MM", big=True)
    assert detect_binary(data) is FileFormat.IMAGE
    assert fault(data).reason == "UNSUPPORTED_FORMAT"


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16"])
def test_modes(page: Image.Image, mode: str) -> None:
    if mode == "I;16":
        image = Image.fromarray(np.asarray(page).astype(np.uint16) * 16)  # twelve bits of sixteen
    else:
        image = page.convert("RGB").convert(mode)
    (given,), _ = frames(saved(image, "TIFF" if mode in {"CMYK", "I;16"} else "PNG"))
    assert same_ink(given, page)


@pytest.mark.parametrize(("letter", "ground"), [(0, 0), (255, 255), (0, 255)])
def test_transparent_ground(page: Image.Image, letter: int, ground: int) -> None:
    """Black or white letters on a ground that is fully transparent, whatever colour stands under it."""
    letters = Image.eval(page, lambda value: 255 - value)
    image = Image.new("RGBA", letters.size, (ground, ground, ground, 0))
    image.paste((letter, letter, letter, 255), (0, 0), letters)
    image.putalpha(letters)
    (given,), _ = frames(png(image))
    assert same_ink(given, page)


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_exif_orientation(page: Image.Image, orientation: int) -> None:
    turn = {1: 0, 3: 180, 6: 90, 8: 270}[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    (given,), _ = frames(saved(page.rotate(turn, expand=True), "JPEG", exif=exif))
    assert same_ink(given, page)


@needs_tesseract
def test_pages_of_a_tiff(page: Image.Image) -> None:
    second = prose([ENGLISH[1]]).crop((0, 0, 2000, 300))
    more = [Image.new("L", (800, 600), 255), second]
    draft = parse_image(saved(page, "TIFF", save_all=True, append_images=more), ParseLimits(), reader().read)
    assert (draft.pages, draft.parser) == (3, "tesseract")
    assert [(block.text, block.pages) for block in draft.blocks] == [(LINE, (1, 1)), (ENGLISH[1], (3, 3))]


def test_only_the_first_frame_of_an_animation(page: Image.Image) -> None:
    more = [prose([line]).crop((0, 0, 2000, 300)) for line in ENGLISH[1:]]
    (given,), draft = frames(saved(page, "GIF", save_all=True, append_images=more))
    assert same_ink(given, page)
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


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF", "JPEG2000", "AVIF"])
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
