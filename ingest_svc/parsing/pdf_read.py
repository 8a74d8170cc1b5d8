"""One page of a PDF to words and shapes, as a reader of the page sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pdfminer.layout import LTCurve, LTLine, LTRect

from ingest_svc.parsing.pdf_device import RawPage, read_raw
from ingest_svc.parsing.pdf_frame import Frame, direction, main_direction
from ingest_svc.parsing.pdf_legible import is_legible
from ingest_svc.parsing.pdf_model import Box, PdfPage, Word
from ingest_svc.parsing.pdf_render import PdfRenderer
from ingest_svc.parsing.pdf_visible import VISIBILITY_DPI, recognised, seen
from ingest_svc.parsing.pdf_words import bare_name, glyphs_of, turned_lines, words_of

# A stroke or filled bar at most this thick is a rule, points.
_RULE_WIDTH = 3.0
_MIN_RULE_LENGTH = 4.0
# Drawings have thousands of strokes; searching them for tables takes minutes and finds none.
_MAX_RULES = 6000


def read_page(page: Any, renderer: PdfRenderer) -> PdfPage:
    """Words and shapes of a pdfplumber page; errors of pdfminer pass through."""
    raw = read_raw(page)
    directions = {id(char): direction(char.matrix, char.adv) for char in (*raw.glyphs, *raw.unseen)}
    main = main_direction(
        directions[id(char)] for char in (raw.glyphs or raw.unseen) if not char.get_text().isspace()
    )
    frame = Frame(*main, raw.width, raw.height)
    width, height = frame.size()
    images = [_clipped(frame.box(item.x0, item.y0, item.x1, item.y1), width, height) for item in raw.images]
    words = _words(raw.glyphs, directions, main, frame)
    unseen = _words(raw.unseen, directions, main, frame)
    crop = _crop_box(page, raw)
    result = PdfPage(page.page_number, width, height, words, images=images)
    result.drawn = bool(raw.glyphs or raw.unseen or raw.images or raw.curves)
    result.image_share = _share(images, width * height)
    guessed = [char.get_text() for char in raw.glyphs if id(char) in raw.guessed]
    result.guessed = 2 * len(guessed) > len(raw.glyphs) and not is_legible(guessed)
    loose = {bare_name(name) for name in raw.loose}
    _drop_hidden(result, unseen, frame, crop, renderer, loose)
    _add_shapes(result, raw.curves, frame)
    return result


def _words(
    chars: list[Any],
    directions: dict[int, tuple[tuple[int, int], tuple[int, int]]],
    main: tuple[tuple[int, int], tuple[int, int]],
    frame: Frame,
) -> list[Word]:
    words = words_of(glyphs_of([char for char in chars if directions[id(char)] == main], frame))
    for other in sorted({directions[id(char)] for char in chars} - {main}):
        turned = Frame(*other, frame.width, frame.height)
        for line in turned_lines(
            glyphs_of([char for char in chars if directions[id(char)] == other], turned)
        ):
            box = frame.box(*turned.page_box((line.x0, line.top, line.x1, line.bottom)))
            line.x0, line.top, line.x1, line.bottom = box
            words.append(line)
    return words


def _drop_hidden(
    page: PdfPage, unseen: list[Word], frame: Frame, crop: Box, renderer: PdfRenderer, loose: set[str]
) -> None:
    """Leaves in `page.words` what a reader sees or an OCR program read from a scan."""
    picture = renderer.picture(page.number, VISIBILITY_DPI, grey=True) if page.words else None
    if picture is not None:
        to_pixels = _pixels(frame, crop, picture.width, picture.height)
        if to_pixels is not None:
            page.words, page.hidden = seen(page.words, picture, to_pixels, loose)
    layer = recognised(unseen, page.words, page.images, page.width * page.height)
    page.recognised = sum(len(word.text) for word in layer)
    page.hidden += sum(len(word.text) for word in unseen) - page.recognised
    page.words.extend(layer)


def _pixels(frame: Frame, crop: Box, width: int, height: int) -> Callable[[Box], Box] | None:
    """From text space to the picture of the page's crop box; None when the two do not fit together."""
    across, up = crop[2] - crop[0], crop[3] - crop[1]
    if across <= 0 or up <= 0 or abs(width / across - height / up) > 0.05 * (height / up):
        return None
    scale_x, scale_y = width / across, height / up

    def convert(box: Box) -> Box:
        x0, y0, x1, y1 = frame.page_box(box)
        return (
            (x0 - crop[0]) * scale_x,
            (crop[3] - y1) * scale_y,
            (x1 - crop[0]) * scale_x,
            (crop[3] - y0) * scale_y,
        )

    return convert


def _crop_box(page: Any, raw: RawPage) -> Box:
    """The crop box in the axes of `raw` (media box at the origin, /Rotate applied, y up), points."""
    media, crop = page.page_obj.mediabox, page.page_obj.cropbox
    x0, x1 = sorted(
        (
            max(min(media[0], media[2]), min(crop[0], crop[2])),
            min(max(media[0], media[2]), max(crop[0], crop[2])),
        )
    )
    y0, y1 = sorted(
        (
            max(min(media[1], media[3]), min(crop[1], crop[3])),
            min(max(media[1], media[3]), max(crop[1], crop[3])),
        )
    )
    left, lower = min(media[0], media[2]), min(media[1], media[3])
    x0, x1, y0, y1 = x0 - left, x1 - left, y0 - lower, y1 - lower
    turn = page.page_obj.rotate % 360
    if turn == 90:
        return y0, raw.height - x1, y1, raw.height - x0
    if turn == 180:
        return raw.width - x1, raw.height - y1, raw.width - x0, raw.height - y0
    if turn == 270:
        return raw.width - y1, x0, raw.width - y0, x1
    return x0, y0, x1, y1


def _add_shapes(page: PdfPage, curves: list[LTCurve], frame: Frame) -> None:
    for curve in curves:
        if not (curve.stroke or curve.fill):
            continue
        box = frame.box(curve.x0, curve.y0, curve.x1, curve.y1)
        x0, top, x1, bottom = box
        if x1 < 0 or bottom < 0 or x0 > page.width or top > page.height:
            continue
        page.shapes.append(box)
        if len(page.rules) > _MAX_RULES:
            continue
        thin = min(x1 - x0, bottom - top) <= _RULE_WIDTH
        if thin and max(x1 - x0, bottom - top) >= _MIN_RULE_LENGTH:
            page.rules.append(_thinned(box))
        elif isinstance(curve, LTRect) and not isinstance(curve, LTLine) and not thin:
            page.rules.extend(
                ((x0, top, x1, top), (x0, bottom, x1, bottom), (x0, top, x0, bottom), (x1, top, x1, bottom))
            )


def _thinned(box: Box) -> Box:
    x0, top, x1, bottom = box
    if x1 - x0 >= bottom - top:
        middle = (top + bottom) / 2
        return x0, middle, x1, middle
    middle = (x0 + x1) / 2
    return middle, top, middle, bottom


def _clipped(box: Box, width: float, height: float) -> Box:
    x0, top, x1, bottom = box
    return (
        min(max(x0, 0.0), width),
        min(max(top, 0.0), height),
        min(max(x1, 0.0), width),
        min(max(bottom, 0.0), height),
    )


def _share(boxes: list[Box], area: float) -> float:
    covered = sum((box[2] - box[0]) * (box[3] - box[1]) for box in boxes)
    return min(1.0, covered / area) if area > 0 else 0.0
