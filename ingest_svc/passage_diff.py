"""The changed parts of a long section. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

# Beyond this many blocks the comparison, which may take their product, gives way to one without their order.
MAX_COMPARED = 2000


def changed_parts(before: Sequence[str], after: Sequence[str], *, limit: int, cut: str) -> tuple[str, str]:
    """Blocks of two texts that are not in both, one unchanged block around each, blank lines between.

    Args:
        limit: code points of each result at most.
        cut: stands for what is left out.
    """
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(old), len(new)) <= MAX_COMPARED:
        old_changed, new_changed = _by_order(old, new)
    else:
        old_changed, new_changed = _by_count(old, new), _by_count(new, old)
    return (
        _shown(before, [start + index for index in old_changed], limit, cut),
        _shown(after, [start + index for index in new_changed], limit, cut),
    )


def _by_order(old: Sequence[str], new: Sequence[str]) -> tuple[list[int], list[int]]:
    old_changed: list[int] = []
    new_changed: list[int] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            old_changed += range(i1, i2)
            new_changed += range(j1, j2)
    return old_changed, new_changed


def _by_count(blocks: Sequence[str], others: Sequence[str]) -> list[int]:
    spare = Counter(others)
    changed = []
    for index, block in enumerate(blocks):
        if spare[block] > 0:
            spare[block] -= 1
        else:
            changed.append(index)
    return changed


def _shown(blocks: Sequence[str], changed: Sequence[int], limit: int, cut: str) -> str:
    wanted = sorted(
        {near for index in changed for near in (index - 1, index, index + 1) if 0 <= near < len(blocks)}
    )
    parts: list[str] = []
    room = limit
    previous = -1
    for index in wanted:
        if index != previous + 1:
            parts.append(cut)
        parts.append(blocks[index])
        room -= len(blocks[index])
        previous = index
        if room < 0:
            break
    if previous != len(blocks) - 1:
        parts.append(cut)
    text = "\n\n".join(parts)
    return text if len(text) <= limit else text[: limit - len(cut)] + cut
