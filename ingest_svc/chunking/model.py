"""What chunking takes and gives: limits, segments, parents, children and the report.

Every (start, end) pair is a half-open range of Unicode code points; the docstring says of which text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from ingest_svc.chunking.ranges import Range
from ingest_svc.document import BlockKind
from radref.errors import InvalidInput

# Below this a table header, a heading path and one sentence no longer fit beside each other.
SMALLEST_LIMIT = 32


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """Sizes of parents and children; the defaults are Paper A's (DESIGN section 5).

    Attributes:
        parent_tokens: most tokens of a parent, without prefix and special tokens, >= 32.
        child_tokens: most tokens of what is embedded for a child, prefix and special tokens included, >= 32.
        child_characters: fewest code points of a child where its parent is long enough, >= 1;
            `child_tokens` wins over it.
        margin_tokens: tokens kept free in every child, because a cut text may be tokenised differently at its
            ends than inside the document, >= 0. Measured with e5's tokenizer on 5,052 children of public
            documents: never more than 1; 8 also covers cuts inside words.
        pack_sections: join small neighbouring sections into fuller parents. BM25 over 60 dev questions found
            the evidence in the first 5 parents for 75 % with it, for 68 % without (design trial: +8 points);
            five parents hold about 20 % more tokens.
        heading_prefix: embed title and heading path before the child's text. Off: in the trial it gained
            at 13 parents but lost at the first, and the first counts most where no reranker runs.
    """

    parent_tokens: int = 1800
    child_tokens: int = 512
    child_characters: int = 900
    margin_tokens: int = 8
    pack_sections: bool = True
    heading_prefix: bool = False

    def __post_init__(self) -> None:
        for name, smallest in (
            ("parent_tokens", SMALLEST_LIMIT),
            ("child_tokens", SMALLEST_LIMIT),
            ("child_characters", 1),
            ("margin_tokens", 0),
        ):
            if getattr(self, name) < smallest:
                raise InvalidInput(f"{name} must be at least {smallest}.", reason="OUT_OF_RANGE", field=name)

    def child_budget(self, overhead: int) -> int:
        """Tokens left for a child's own text, table header and heading prefix.

        Args:
            overhead: tokens that the model's document prefix and special tokens take, >= 0.

        Raises:
            InvalidInput: OUT_OF_RANGE, when fewer than 32 tokens are left.
        """
        budget = self.child_tokens - self.margin_tokens - overhead
        if overhead < 0 or budget < SMALLEST_LIMIT:
            raise InvalidInput(
                f"child_tokens = {self.child_tokens} leaves {budget} tokens for text beside the model's "
                f"overhead of {overhead} and the margin of {self.margin_tokens}; "
                f"at least {SMALLEST_LIMIT} are needed.",
                reason="OUT_OF_RANGE",
                field="child_tokens",
            )
        return budget


class Boundary(IntEnum):
    """What ends where a segment begins, from the best place to cut to the worst."""

    SECTION = 0
    BLOCK = 1
    ITEM = 2  # a row of a table, an item of a list, a line of code
    SENTENCE = 3
    CLAUSE = 4  # also a cell of a table
    WORD = 5
    INSIDE_WORD = 6


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as it stands in section paths.

    Attributes:
        title: its text without Markdown.
        tokens: tokens of its Markdown, >= those of the title.
    """

    title: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A block, or a piece of one.

    Attributes:
        start, end: where it stands in the text it was cut from.
        kind: kind of its block.
        path: headings above it, outermost first; a heading's path ends with itself.
        pages: (first, last) page of its block, from 1.
        block: ordinal of its block; pieces of one block share it.
        boundary: what lies before it.
        table_header: where header and delimiter row of its table stand in the same text; None for other
            kinds and where the header cannot be repeated.
    """

    start: int
    end: int
    kind: BlockKind
    path: tuple[Heading, ...]
    pages: Range | None
    block: int
    boundary: Boundary
    table_header: Range | None = None

    @property
    def continues_table(self) -> bool:
        """True when it begins inside a table, so that the header must be repeated before it."""
        return self.table_header is not None and self.start > self.table_header[0]


@dataclass(frozen=True, slots=True)
class Parent:
    """A passage that is cited, reranked and put into prompts.

    Attributes:
        citation_id: 20 hexadecimal digits, see `ingest_svc.chunking.identity`.
        ordinal: position in the document, from 0.
        text: Markdown: the slice of the rendered document at `source`; where that slice begins inside a
            table, header and delimiter row of the table and a line feed come first.
        section_path: headings that all its content stands under, outermost first.
        pages: (first, last) page from 1, or None where the format has none.
        source: where its slice stands in the rendered document.
        repeated_header: where the repeated table header stands in the rendered document, or None.
        segments: its blocks, in code points of `text`.
    """

    citation_id: str
    ordinal: int
    text: str
    section_path: tuple[str, ...]
    pages: Range | None
    source: Range
    repeated_header: Range | None
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Child:
    """A part of a parent that is embedded and searched.

    Attributes:
        ordinal: position in the parent, from 0.
        start, end: where it stands in the parent's text.
        section_path: headings that all its content stands under, outermost first; at least as deep as
            the parent's.
        text: the parent's text at [start, end).
        table_header: where the header of the table in which the child begins stands in the parent's
            text, if the child does not hold it and it is short enough to be embedded with the child.
        prefix: title and heading path to embed before the text; empty unless `heading_prefix` is on.
        tokens: tokens of `embedding_text`, counted on the document, without the model's overhead.
    """

    ordinal: int
    start: int
    end: int
    section_path: tuple[str, ...]
    text: str
    table_header: Range | None
    prefix: str
    tokens: int


@dataclass(frozen=True, slots=True)
class IndivisibleRow:
    """A table row that makes its parent longer than the limit.

    Attributes:
        parent: ordinal of the parent.
        source: where the row stands in the rendered document.
        tokens: tokens of the whole parent.
    """

    parent: int
    source: Range
    tokens: int


@dataclass(frozen=True, slots=True)
class TokenStatistics:
    """Tokens per parent or child: all 0 when there are none."""

    total: int = 0
    smallest: int = 0
    median: float = 0.0
    largest: int = 0


@dataclass(frozen=True, slots=True)
class ChunkReport:
    """What chunking did.

    Attributes:
        parents, children: how many.
        parent_tokens: tokens of the parents' texts.
        child_tokens: tokens of what is embedded, without the model's overhead.
        indivisible_rows: rows that keep a parent over the limit.
        divided_rows: rows longer than a child may be, which are searched in several children.
        unrepeated_headers: tables whose header is more than half of a parent, so that it stands only where
            the document has it.
        short_children: children below `child_characters` although their parent is not.
    """

    parents: int = 0
    children: int = 0
    parent_tokens: TokenStatistics = field(default_factory=TokenStatistics)
    child_tokens: TokenStatistics = field(default_factory=TokenStatistics)
    indivisible_rows: tuple[IndivisibleRow, ...] = ()
    divided_rows: int = 0
    unrepeated_headers: int = 0
    short_children: int = 0


@dataclass(frozen=True, slots=True)
class ParentChunk:
    """A parent and its children, in order."""

    parent: Parent
    children: tuple[Child, ...]


@dataclass(frozen=True, slots=True)
class ChunkedDocument:
    """All parents of a document, in order, and the report."""

    chunks: tuple[ParentChunk, ...]
    report: ChunkReport
