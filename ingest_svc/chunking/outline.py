"""Blocks with their heading paths, and the tree of sections they form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ingest_svc.chunking.model import Boundary, Heading, Segment
from ingest_svc.chunking.tables import header_of
from ingest_svc.chunking.tokens import TokenMap
from ingest_svc.document import BlockKind, PlacedBlock

_HASHES = re.compile(r"\A#{1,6}(?: |\Z)| #+\Z")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_EMPHASIS = re.compile(r"(\*\*|__|\*|`)(?=\S)(.+?)(?<=\S)\1")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~])")

# Longer ones (code points) are paragraphs misread as headings; the patterns above would take long on them.
_LONGEST_TITLE = 1000


@dataclass(slots=True)
class Section:
    """A heading with what stands under it.

    Attributes:
        heading: its segment; None for the document itself.
        level: 1-6; 0 for the document.
        openings: headings right before it that have nothing under them: they go with what follows.
        content: blocks before the first section inside.
        sections: sections inside, in order.
    """

    heading: Segment | None
    level: int
    openings: list[Segment] = field(default_factory=list)
    content: list[Segment] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)

    def headings(self) -> tuple[Segment, ...]:
        """The headings that stand directly above its content."""
        return (*self.openings, *(() if self.heading is None else (self.heading,)))

    def segments(self) -> Iterator[Segment]:
        """All its segments in order."""
        yield from self.headings()
        yield from self.content
        for section in self.sections:
            yield from section.segments()


def heading_title(markdown: str) -> str:
    """A heading's text without #s, emphasis, links and escapes, on one line."""
    title = _HASHES.sub("", " ".join(markdown.split()))
    if len(title) > _LONGEST_TITLE:
        return title
    title = _LINK.sub(r"\1", title)
    title = _EMPHASIS.sub(r"\2", title)
    title = _ESCAPE.sub(r"\1", title)
    return " ".join(title.split())


def outline(text: str, placed: Sequence[PlacedBlock], tokens: TokenMap) -> Section:
    """The section tree of a rendered document; its root has the whole as content and sections.

    A heading stands under the nearest heading before it of a lower level, also where levels are skipped.
    A heading that nothing stands under is one of the `openings` of the next one, if there is one, and part of
    no path. Blocks without any visible character are left out.
    """
    root = Section(None, 0)
    open_sections = [root]
    for ordinal, item in enumerate(placed):
        if not text[item.start : item.end].strip():
            continue
        is_heading = item.block.kind is BlockKind.HEADING
        openings: list[Segment] = []
        level = 0
        if is_heading:
            level = min(max(item.block.level, 1), 6)
            while open_sections[-1].level >= level:
                closed = open_sections.pop()
                if not closed.content and not closed.sections:
                    openings[:0] = closed.headings()
                    open_sections[-1].sections.pop()
        path = _path(open_sections)
        if is_heading and (title := heading_title(item.block.text)):
            path = (*path, Heading(title, tokens.count(item.start, item.end)))
        segment = Segment(
            start=item.start,
            end=item.end,
            kind=item.block.kind,
            path=path,
            pages=item.block.pages,
            block=ordinal,
            boundary=Boundary.SECTION if is_heading else Boundary.BLOCK,
            table_header=header_of(text, item.start, item.end)
            if item.block.kind is BlockKind.TABLE
            else None,
        )
        if is_heading:
            section = Section(segment, level, openings)
            open_sections[-1].sections.append(section)
            open_sections.append(section)
        else:
            open_sections[-1].content.append(segment)
    return root


def common_path(segments: Sequence[Segment]) -> tuple[Heading, ...]:
    """The headings that all content stands under; headings themselves count only where nothing else is."""
    paths = [segment.path for segment in segments if segment.kind is not BlockKind.HEADING]
    if not paths:
        paths = [segment.path for segment in segments]
    shared = paths[0]
    for path in paths[1:]:
        length = 0
        while length < min(len(shared), len(path)) and shared[length] is path[length]:
            length += 1
        shared = shared[:length]
    return shared


def _path(open_sections: Sequence[Section]) -> tuple[Heading, ...]:
    heading = open_sections[-1].heading
    return heading.path if heading is not None else ()
