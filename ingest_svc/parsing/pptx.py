"""PPTX to blocks, by python-pptx: slide by slide, in reading order."""

from __future__ import annotations

import io
from typing import Any

import pptx
from lxml import etree
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.exc import PackageNotFoundError, PythonPptxError

from ingest_svc.cleaning.spaces import one_line
from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.blocks import Pages, heading
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.ooxml_package import check_package, corrupt, with_main_type
from ingest_svc.parsing.pptx_shapes import SlideShapes, frame_blocks, is_heading_like, title_of
from radref.errors import InvalidInput

_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"
_VARIANTS = (
    "application/vnd.openxmlformats-officedocument.presentationml.slideshow.main+xml",
    "application/vnd.openxmlformats-officedocument.presentationml.template.main+xml",
    "application/vnd.ms-powerpoint.presentation.macroEnabled.main+xml",
    "application/vnd.ms-powerpoint.slideshow.macroEnabled.main+xml",
    "application/vnd.ms-powerpoint.template.macroEnabled.main+xml",
)


def parse_pptx(data: bytes, limits: ParseLimits) -> Draft:
    """Blocks of a presentation; the page of a block is the number of its slide, hidden slides counted.

    A slide's title is its heading: level 1 for a title slide, else 2 (1 where no title slide comes first).
    A slide without any title gets "Slide N", so that its text does not fall under the slide before.

    Raises:
        InvalidInput: CORRUPT_FILE, FILE_TOO_LARGE or PASSWORD_PROTECTED.
    """
    check_package(data, limits)
    try:
        presentation = pptx.Presentation(io.BytesIO(with_main_type(data, _VARIANTS, _TYPE)))
        return _read(presentation, limits)
    except InvalidInput:
        raise
    except (
        etree.XMLSyntaxError,
        PackageNotFoundError,
        PythonPptxError,
        KeyError,
        ValueError,
        AttributeError,
        IndexError,
        TypeError,
        RecursionError,
    ) as exc:
        raise corrupt("the parts of the presentation do not fit together") from exc


def _read(presentation: Any, limits: ParseLimits) -> Draft:
    slides = list(presentation.slides)
    if len(slides) > limits.max_pages:
        raise InvalidInput(
            f"The presentation has {len(slides)} slides, over the limit of {limits.max_pages}. Split it.",
            reason="FILE_TOO_LARGE",
            metadata={"limit_pages": str(limits.max_pages)},
        )
    area = (presentation.slide_width or 0) * (presentation.slide_height or 0)
    opens_with_title = bool(slides) and _is_title_slide(slides[0])
    blocks: list[Block] = []
    title = ""
    hidden = 0
    pictures = 0
    covered = 0.0
    for number, slide in enumerate(slides, start=1):
        if slide._element.get("show") in {"0", "false"}:
            hidden += 1
            continue
        shapes = SlideShapes(slide, (number, number))
        level = 1 if not opens_with_title or _is_title_slide(slide) else 2
        made, name = _slide_blocks(slide, shapes, number, level)
        title = title or name
        blocks.extend(made)
        blocks.extend(_notes(slide, (number, number)))
        pictures += shapes.pictures
        covered += min(1.0, shapes.picture_area / area) if area else 0.0
    warnings = []
    if hidden:
        warnings.append(f"{hidden} hidden slides were left out.")
    if pictures:
        warnings.append(f"{pictures} pictures were not read; text inside them is missing.")
    named = one_line(presentation.core_properties.title or "")
    shown = max(1, len(slides) - hidden)
    return Draft(
        tuple(blocks),
        "python-pptx",
        # "PowerPoint Presentation" is what the program writes when nobody gave a title.
        title=title or ("" if named == "PowerPoint Presentation" else named),
        pages=len(slides),
        image_share=covered / shown,
        warnings=tuple(warnings),
    )


def _slide_blocks(slide: Any, shapes: SlideShapes, number: int, level: int) -> tuple[list[Block], str]:
    """Blocks of a slide, and its own title ("" when it has none)."""
    pages = (number, number)
    placeholder = title_of(slide)
    name = one_line(placeholder.text_frame.text) if placeholder is not None else ""
    rest = shapes.blocks(skip=placeholder if name else None)
    if not name and rest and is_heading_like(rest[0]):
        name = rest.pop(0).text
    if not name and not rest:
        return [], ""
    return [heading(name or f"Slide {number}", level, pages), *rest], name


def _is_title_slide(slide: Any) -> bool:
    placeholder = title_of(slide)
    return (
        placeholder is not None
        and placeholder.placeholder_format.type == PP_PLACEHOLDER.CENTER_TITLE
        and bool(placeholder.text_frame.text.strip())
    )


def _notes(slide: Any, pages: Pages) -> list[Block]:
    """The speaker's notes as a quote that begins with "Notes:"."""
    if not slide.has_notes_slide:
        return []
    frame = slide.notes_slide.notes_text_frame
    if frame is None or not frame.text.strip():
        return []
    lines = "\n\n".join(block.text for block in frame_blocks(frame, pages, bulleted=False)).split("\n")
    lines[0] = f"Notes: {lines[0]}"
    return [Block(BlockKind.QUOTE, "\n".join(f"> {line}".rstrip() for line in lines), 0, pages)]
