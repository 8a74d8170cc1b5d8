"""How much of a document's structure our chunks keep, beside those of chonkie's RecursiveChunker.

    pip install chonkie
    python -m benchmarks.chunking_structure ../shared/data/corpus samples/documents

Every file is parsed and cleaned by radref; both sides cut the same Markdown with the same limit, counted by
the tokenizer of the embedded default (multilingual-e5-small). Prints Markdown for docs/parsing.md.

The yardsticks are kept apart from our own chunker: blocks come from the parser, rows and items are lines,
and a sentence counts as cut only where a chunk ends inside a line behind another character than . ! ? : ; …
or a closing quote or bracket (so a cut behind "Fig." is not held against anyone).
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.parsing_quality.measure import find_files
from inference_svc.embedders.onnx_e5.tokenizer import E5Tokenizer
from inference_svc.embedders.onnx_e5.tokenizer_json import build_tokenizer
from inference_svc.embedders.onnx_e5.weights import E5Weights, bundled_weights_path
from ingest_svc.chunking.children import embedding_text
from ingest_svc.chunking.chunk import chunk_document
from ingest_svc.chunking.model import ChunkedDocument, ChunkLimits
from ingest_svc.chunking.outline import heading_title
from ingest_svc.chunking.tokens import TokenMap
from ingest_svc.cleaning.clean import clean
from ingest_svc.document import BlockKind, PlacedBlock, render
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file
from radref.errors import RadrefError

_SENTENCE_END = re.compile(r"[.!?:;…][\"'”’»)\]*_]*\Z")
_ITEM = re.compile(r"^[ \t]*(?:[-*+•–]|\(?(?:\d+(?:\.\d+)*|[^\W\d_]{1,4})[.)])[ \t]+", re.M)
_LIMITS = ChunkLimits()
# Of multilingual-e5-small: "passage: " and the two special tokens.
_OVERHEAD = 5


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk: where it stands in the text, what is stored of it, and the headings it is stored with."""

    start: int
    end: int
    stored: str
    path: tuple[str, ...]


@dataclass(slots=True)
class Counts:
    """What is counted over all documents; `tokens` are those of the stored chunks."""

    chunks: int = 0
    tokens: int = 0
    over_limit: int = 0
    tables_cut: int = 0
    pieces_without_header: int = 0
    rows_cut: int = 0
    items_cut: int = 0
    sentences_cut: int = 0
    stranded_headings: int = 0
    without_heading: int = 0
    characters_lost: int = 0

    def add(self, other: Counts) -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


Chunker = Callable[[str, Sequence[PlacedBlock]], list[Piece]]


def measure(
    text: str, placed: Sequence[PlacedBlock], pieces: list[Piece], sizes: list[int], limit: int
) -> Counts:
    """Counts for one document.

    Args:
        text, placed: what `render` returned.
        pieces: its chunks in order.
        sizes: tokens of each chunk's stored text, tokenised by itself.
        limit: most tokens a chunk may have.
    """
    counts = Counts(len(pieces), sum(sizes), sum(size > limit for size in sizes))
    cuts = [piece.start for piece in pieces[1:]]
    for item in placed:
        if item.block.kind is BlockKind.TABLE:
            _count_table(counts, text, item, pieces)
        elif item.block.kind is BlockKind.LIST:
            starts = [found.start() for found in _ITEM.finditer(text, item.start, item.end)]
            inside = [cut for cut in cuts if item.start < cut < item.end]
            counts.items_cut += sum(
                not any(_same_place(text, cut, start) for start in starts) for cut in inside
            )
        if item.block.kind in {BlockKind.PARAGRAPH, BlockKind.LIST, BlockKind.QUOTE}:
            counts.sentences_cut += sum(
                _is_mid_sentence(text, cut) for cut in cuts if item.start < cut < item.end
            )
    headings = [item for item in placed if item.block.kind is BlockKind.HEADING]
    for at, piece in enumerate(pieces):
        inside_blocks = [
            item
            for item in placed
            if item.start < piece.end and item.end > piece.start and _visible(text, item, piece)
        ]
        if at + 1 < len(pieces) and inside_blocks and inside_blocks[-1].block.kind is BlockKind.HEADING:
            counts.stranded_headings += 1
        content = next((item for item in inside_blocks if item.block.kind is not BlockKind.HEADING), None)
        above = [item for item in headings if content is not None and item.start < content.start]
        if above:
            title = heading_title(above[-1].block.text)
            shown = above[-1].start >= piece.start or title in piece.path
            # Parents of several sections have their common path, and the headings inside.
            counts.without_heading += not (shown or title in " ".join(piece.stored.split()))
    covered = set[int]()
    for piece in pieces:
        whole = text[piece.start : piece.end]
        if piece.stored.endswith(whole):
            covered.update(range(piece.start, piece.end))
    counts.characters_lost = sum(not char.isspace() and at not in covered for at, char in enumerate(text))
    return counts


def _count_table(counts: Counts, text: str, table: PlacedBlock, pieces: Iterable[Piece]) -> None:
    lines = table.block.text.split("\n")
    header = lines[0].strip()
    inside = [
        piece
        for piece in pieces
        if table.start < piece.start < table.end and text[table.start : piece.start].strip()
    ]
    counts.tables_cut += bool(inside)
    for piece in inside:
        counts.rows_cut += "\n" not in text[piece.start - 1 : piece.start + 1]
        counts.pieces_without_header += header not in piece.stored


def _visible(text: str, item: PlacedBlock, piece: Piece) -> bool:
    return bool(text[max(item.start, piece.start) : min(item.end, piece.end)].strip())


def _same_place(text: str, cut: int, start: int) -> bool:
    return not text[min(cut, start) : max(cut, start)].strip()


def _is_mid_sentence(text: str, cut: int) -> bool:
    before = text[max(0, cut - 40) : cut]
    blank = text[cut:].lstrip("\n \t")
    if "\n" in before[len(before.rstrip()) :] or text[cut : cut + 1] == "\n" or not blank:
        return False
    return _SENTENCE_END.search(before.rstrip()) is None


def our_chunker(tokenizer: E5Tokenizer, *, children: bool) -> Chunker:
    """Our parents, or the children of all parents."""

    def cut(text: str, placed: Sequence[PlacedBlock]) -> list[Piece]:
        chunked = chunk_document(
            text,
            placed,
            TokenMap(text, tokenizer.ids_with_offsets(text)[1].tolist()),
            _LIMITS,
            document_id="benchmark",
            version=1,
            overhead=_OVERHEAD,
        )
        return _children(chunked) if children else _parents(chunked)

    return cut


def _parents(chunked: ChunkedDocument) -> list[Piece]:
    return [Piece(*item.parent.source, item.parent.text, item.parent.section_path) for item in chunked.chunks]


def _children(chunked: ChunkedDocument) -> list[Piece]:
    pieces: list[Piece] = []
    for item in chunked.chunks:
        source = item.parent.source
        shift = source[1] - len(item.parent.text)
        for child in item.children:
            # A child that begins in the repeated header of its parent begins where the parent does.
            start = max(source[0], child.start + shift)
            pieces.append(
                Piece(start, child.end + shift, embedding_text(item.parent, child), child.section_path)
            )
    return pieces


def chonkie_chunker(tokenizer: Any, limit: int, *, markdown: bool) -> Chunker:
    """chonkie's RecursiveChunker, with its default rules or with a level for each depth of headings.

    chonkie's own "markdown" recipe is a file on a model hub and cannot be had offline; the levels here are
    headings of each depth, blank lines, lines, then its defaults.
    """
    chonkie = importlib.import_module("chonkie")
    rules = chonkie.RecursiveRules()
    if markdown:
        level = chonkie.RecursiveLevel
        headings = [
            level(delimiters=["\n" + "#" * depth + " "], include_delim="next") for depth in range(1, 7)
        ]
        rules = chonkie.RecursiveRules(
            levels=[*headings, level(delimiters=["\n\n"]), level(delimiters=["\n"]), *rules.levels[1:]]
        )
    made = chonkie.RecursiveChunker(tokenizer=tokenizer, chunk_size=limit, rules=rules)

    def cut(text: str, placed: Sequence[PlacedBlock]) -> list[Piece]:
        return [Piece(chunk.start_index, chunk.end_index, chunk.text, ()) for chunk in made.chunk(text)]

    return cut


def _documents(folders: Iterable[Path]) -> Iterable[tuple[str, tuple[PlacedBlock, ...]]]:
    for folder in folders:
        for file in find_files(folder):
            try:
                document = clean(parse_file(file.read_bytes(), file.name, ParseLimits()))
            except RadrefError as exc:
                print(f"{file.name}: left out, {exc.reason}", file=sys.stderr)
                continue
            yield render(document.blocks)


def _report(results: dict[str, tuple[Counts, int]]) -> str:
    names: list[tuple[str, Callable[[Counts, int], str]]] = [
        ("chunks", lambda counts, limit: str(counts.chunks)),
        ("mean fill", lambda counts, limit: f"{counts.tokens / max(1, counts.chunks) / limit:.0%}"),
        ("over the limit", lambda counts, limit: str(counts.over_limit)),
        ("tables cut", lambda counts, limit: str(counts.tables_cut)),
        ("pieces of tables without header", lambda counts, limit: str(counts.pieces_without_header)),
        ("rows cut", lambda counts, limit: str(counts.rows_cut)),
        ("list items cut", lambda counts, limit: str(counts.items_cut)),
        ("sentences cut", lambda counts, limit: str(counts.sentences_cut)),
        ("headings parted from their text", lambda counts, limit: str(counts.stranded_headings)),
        ("chunks without their heading", lambda counts, limit: str(counts.without_heading)),
        ("characters not in any chunk", lambda counts, limit: str(counts.characters_lost)),
    ]  # fmt: skip
    lines = ["| | " + " | ".join(results) + " |", "| --- |" + " ---: |" * len(results)]
    lines += [
        "| " + " | ".join([name, *(show(*result) for result in results.values())]) + " |"
        for name, show in names
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("folders", nargs="+", type=Path)
    folders = parser.parse_args().folders
    try:
        importlib.import_module("chonkie")
    except ImportError:
        print("chonkie is not installed here: pip install chonkie", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "tokenizer.json"
        raw = build_tokenizer(E5Weights(bundled_weights_path()))
        raw.save(str(path), pretty=False)
        ours = E5Tokenizer(path)
    child_limit = _LIMITS.child_tokens - _OVERHEAD
    sides: dict[str, tuple[Chunker, int]] = {}
    for name, limit, children in (
        ("1800", _LIMITS.parent_tokens, False),
        (str(child_limit), child_limit, True),
    ):
        sides[f"ours, {name}"] = our_chunker(ours, children=children), limit
        sides[f"chonkie, {name}, headings"] = chonkie_chunker(raw, limit, markdown=True), limit
        sides[f"chonkie, {name}, default rules"] = chonkie_chunker(raw, limit, markdown=False), limit
    results = {name: (Counts(), limit) for name, (_, limit) in sides.items()}
    documents = 0
    for text, placed in _documents(folders):
        documents += 1
        for name, (cut, limit) in sides.items():
            pieces = cut(text, placed)
            sizes = ours.count([piece.stored for piece in pieces])
            results[name][0].add(measure(text, placed, pieces, sizes, limit))
    print(f"{documents} documents.\n\n{_report(results)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
