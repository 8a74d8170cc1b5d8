"""Headings that a converter repeats at the head of every part, as law collections do."""

from __future__ import annotations

from ingest_svc.document import Block, BlockKind

Blocks = tuple[Block, ...]
Path = list[tuple[int, str]]


def drop_repeated_headings(blocks: Blocks) -> Blocks:
    """Drops headings that only say again where the reader already is.

    A run of headings without text between them loses those that are still open with the same level and
    wording ("Title 42", "§ 263b" before each of its subsections). Only where the text below the run then
    stands under exactly the same headings as before; so two sections of the same name both stay.
    """
    kept: list[Block] = []
    path: Path = []
    at = 0
    while at < len(blocks):
        end = at
        while end < len(blocks) and blocks[end].kind is BlockKind.HEADING:
            end += 1
        if end == at:
            kept.append(blocks[at])
            at += 1
            continue
        run = blocks[at:end]
        still_open = set(path)
        fresh = [block for block in run if (block.level, block.text) not in still_open]
        shown = _opened(path, run)
        if fresh and len(fresh) < len(run) and _opened(path, fresh) == shown:
            kept.extend(fresh)
        else:
            kept.extend(run)
        path = shown
        at = end
    return tuple(kept)


def _opened(path: Path, headings: Blocks | list[Block]) -> Path:
    """The headings that are open after `headings`."""
    opened = list(path)
    for block in headings:
        while opened and opened[-1][0] >= block.level:
            opened.pop()
        opened.append((block.level, block.text))
    return opened
