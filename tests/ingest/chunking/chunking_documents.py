"""Documents and a word tokenizer for the chunking tests."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from hypothesis import strategies as st

from ingest_svc.chunking.tokens import TokenMap
from ingest_svc.document import Block, BlockKind, PlacedBlock, render

# A word of up to four letters or a mark; the blank before it belongs to it, as with SentencePiece.
_TOKEN = re.compile(r"\s?(?:\w{1,4}|[^\w\s])")


def offsets_of(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in _TOKEN.finditer(text)]


def token_map(text: str) -> TokenMap:
    return TokenMap(text, offsets_of(text))


def heading(level: int, title: str) -> Block:
    return Block(BlockKind.HEADING, "#" * level + " " + title, level)


def paragraph(text: str, pages: tuple[int, int] | None = None) -> Block:
    return Block(BlockKind.PARAGRAPH, text, pages=pages)


def bullets(*items: str) -> Block:
    return Block(BlockKind.LIST, "\n".join(f"- {item}" for item in items))


def table(header: Sequence[str], *rows: Sequence[str]) -> Block:
    lines = [header, ["---"] * len(header), *rows]
    return Block(BlockKind.TABLE, "\n".join("| " + " | ".join(cells) + " |" for cells in lines))


def words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


def rendered(*blocks: Block) -> tuple[str, tuple[PlacedBlock, ...], TokenMap]:
    text, placed = render(blocks)
    return text, placed, token_map(text)


_WORDS = (
    "dose limit mSv CT ёлка мГр снимок см. рис. г. п. 5 0,3 3.5 e.g. Fig. The Врач (a) — ; : , и "
    "radiographical рентгенодиагностика й"
).split()
# Prepared, because drawing every word by itself makes hypothesis slow.
_RANDOM = random.Random(7)
_SENTENCE_POOL = [" ".join(_RANDOM.choices(_WORDS, k=1 + length % 14)) + "." for length in range(42)]
_SENTENCE_POOL += ["x" * 90 + ".", "й" * 300, "A list follows:", "А", "Who? Me! Yes."]
_CELL_POOL = [" ".join(_RANDOM.choices(_WORDS, k=1 + length % 4)) for length in range(16)]

_PROSE = st.lists(st.sampled_from(_SENTENCE_POOL), min_size=1, max_size=6).map(" ".join)
_CELLS = st.sampled_from([*_CELL_POOL, *_SENTENCE_POOL[:14], " ".join(_SENTENCE_POOL[:20])])


@st.composite
def _tables(draw: st.DrawFn) -> Block:
    columns = draw(st.integers(1, 3))
    row = st.lists(_CELLS, min_size=columns, max_size=columns)
    header = draw(st.lists(_CELLS, min_size=columns, max_size=columns))
    return table(header, *draw(st.lists(row, max_size=12)))


_BLOCKS = st.one_of(
    st.builds(heading, st.integers(1, 4), st.sampled_from([*_CELL_POOL, *_SENTENCE_POOL])),
    _PROSE.map(paragraph),
    _PROSE.map(paragraph),
    st.lists(_PROSE, min_size=1, max_size=5).map(lambda items: bullets(*items)),
    _tables(),
    _PROSE.map(lambda text: Block(BlockKind.QUOTE, "> " + text)),
    _PROSE.map(lambda text: Block(BlockKind.CODE, "```\n" + text.replace(". ", "\n") + "\n```")),
)

documents = st.lists(_BLOCKS, min_size=1, max_size=25).map(tuple)
