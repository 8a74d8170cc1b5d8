"""A stored variant as a parsed document: its passage, block by block, with nothing cleaned away."""

from __future__ import annotations

from dataclasses import replace

from ingest_svc.chunking.model import ChunkLimits
from ingest_svc.document import SEPARATOR, Block, BlockKind, ParsedDocument, ParseReport
from radref.appropriateness import passage
from radref.appropriateness.documents import is_variant_document
from radref.errors import InvalidInput

# More tokens and characters than any variant has.
_UNLIMITED = 10**9


def read_variant(data: bytes, language: str) -> ParsedDocument:
    """The document of stored bytes; `ingest_svc.document.render` gives exactly their text again.

    Args:
        language: BCP 47 tag of its metadata.

    Raises:
        InvalidInput: CORRUPT_FILE, they are not a passage as this release writes them.
    """
    try:
        text = data.decode("utf-8")
        variant = passage.parse(text)
    except ValueError as exc:
        raise InvalidInput(
            f"{exc} Send the variant again with SubmitVariant.", reason="CORRUPT_FILE"
        ) from exc
    blocks = tuple(_block(piece) for piece in text.split(SEPARATOR))
    kinds = [block.kind for block in blocks]
    report = ParseReport(
        format="appropriateness-variant",
        parser="radref",
        encoding="utf-8",
        tables=kinds.count(BlockKind.TABLE),
        headings=kinds.count(BlockKind.HEADING),
        language=language,
        characters=len(text),
    )
    return ParsedDocument(blocks, variant.title, report)


def limits_of(document_id: str, limits: ChunkLimits) -> ChunkLimits:
    """How a document is cut: a variant is one parent, and as few children as the model's window allows.

    Args:
        limits: those of the site, for every other document.
    """
    if not is_variant_document(document_id):
        return limits
    return replace(limits, parent_tokens=_UNLIMITED, child_characters=_UNLIMITED)


def _block(piece: str) -> Block:
    # A passage has one block of each form, and texts that could be taken for another stand behind a label.
    if piece.startswith("#"):
        return Block(BlockKind.HEADING, piece, level=len(piece) - len(piece.lstrip("#")))
    if piece.startswith("- "):
        return Block(BlockKind.LIST, piece)
    return Block(BlockKind.TABLE if piece.startswith("|") else BlockKind.PARAGRAPH, piece)
