"""Tables of contents as blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ingest_svc.cleaning.contents import has_leader, is_contents_title, title_key
from ingest_svc.document import Block, BlockKind

Blocks = tuple[Block, ...]

# Two headings in a row are a section and its first part; this many without a word between are a list.
_MIN_BARE_HEADINGS = 4
# Headings of one level among them: a chain of one each is where the reader is (title, chapter, section).
_MIN_SIBLINGS = 3
_MIN_SHARE_SEEN_AGAIN = 0.7
_MAX_ENTRY = 200


def drop_contents(blocks: Blocks) -> Blocks:
    """Drops tables of contents and their title.

    Only three things count as one: a text of which most lines have dot leaders or page numbers, under a
    contents title or not; entries under a contents title that are sections of this document; and a
    run of headings without text between them, most of which come again later.
    """
    return _drop_heading_runs(_drop_entries(blocks))


def _drop_entries(blocks: Blocks) -> Blocks:
    keys = frozenset(title_key(_plain(block)) for block in blocks if block.kind is BlockKind.HEADING)
    kept: list[Block] = []
    under_title = False
    for block in blocks:
        text = _plain(block)
        if is_contents_title(text):
            under_title = True
            kept.append(block)
            continue
        if _is_entries(block, keys, under_title):
            if kept and is_contents_title(_plain(kept[-1])):
                kept.pop()
            continue
        under_title = False
        kept.append(block)
    return tuple(kept)


def _is_entries(block: Block, keys: frozenset[str], under_title: bool) -> bool:
    if block.kind not in {BlockKind.PARAGRAPH, BlockKind.LIST}:
        return False
    lines = [line.strip() for line in block.text.split("\n") if line.strip()]
    leaders = sum(has_leader(line) for line in lines)
    if leaders >= 1 and leaders >= 0.5 * len(lines) and (len(lines) > 1 or leaders == len(lines)):
        # One line with leaders alone may be a form field ("Name ........"): it needs a page number.
        return len(lines) > 1 or lines[0][-1].isdigit()
    if not under_title:
        return False
    if len(lines) >= 3 and block.kind is BlockKind.PARAGRAPH:
        return True
    known = sum(title_key(line.lstrip("-0123456789.) ")) in keys for line in lines)
    return known >= max(1, 0.6 * len(lines))


def _drop_heading_runs(blocks: Blocks) -> Blocks:
    keys = [title_key(_plain(block)) if _may_be_entry(block) else "" for block in blocks]
    last_heading = {keys[at]: at for at, block in enumerate(blocks) if block.kind is BlockKind.HEADING}
    dropped: set[int] = set()
    at = 0
    while at < len(blocks):
        end = at
        seen: set[str] = set()
        # A key that comes again inside the run is the first heading of the real text.
        while (
            end < len(blocks)
            and _is_entry(blocks[end], keys[end], last_heading, end)
            and keys[end] not in seen
        ):
            seen.add(keys[end])
            end += 1
        again = [place for place in range(at, end) if last_heading.get(keys[place], -1) > place]
        enough = end - at >= _MIN_BARE_HEADINGS and len(again) >= _MIN_SHARE_SEEN_AGAIN * (end - at)
        if enough and _has_siblings(blocks[at:end]):
            # Where real text begins with a repeated title, all before it is the list.
            repeats = end < len(blocks) and keys[end] in seen
            dropped.update(range(again[0], end if repeats else again[-1] + 1))
            if at == 0 and 0 < blocks[0].level < min(block.level or 6 for block in blocks[1:end]):
                # The document's title stands above its contents, and often again below.
                dropped.discard(0)
        at = max(end, at + 1)
    return tuple(block for place, block in enumerate(blocks) if place not in dropped)


def _may_be_entry(block: Block) -> bool:
    if block.kind is BlockKind.HEADING:
        return True
    return (
        block.kind is BlockKind.PARAGRAPH
        and len(block.text) <= _MAX_ENTRY
        and "\n" not in block.text
        # Items of an enumeration ("процедурный кабинет;") may be titles further down; entries end without.
        and block.text[-1:] not in {";", ",", ":"}
    )


def _has_siblings(run: Sequence[Block]) -> bool:
    return max(Counter(block.level for block in run).values()) >= _MIN_SIBLINGS


def _is_entry(block: Block, key: str, last_heading: dict[str, int], at: int) -> bool:
    """A heading, or a short paragraph that is the title of a later section."""
    return block.kind is BlockKind.HEADING or (bool(key) and last_heading.get(key, -1) > at)


def _plain(block: Block) -> str:
    return block.text.lstrip("# ") if block.kind is BlockKind.HEADING else block.text
