"""Packs a code-point map as the `Precompiled` normaliser of a `tokenizer.json`.

The format is SentencePiece's `precompiled_charsmap`: u32 size of the trie in bytes, the trie, then the
replacements, each ended by a NUL byte. The trie is a double array of u32 units in the bit layout of
darts-clone (Yata, https://github.com/s-yata/darts-clone, `DoubleArrayUnit`): bit 31 marks a value,
bit 8 "has a leaf", bits 10-30 the offset, bits 0-7 the label.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

_VALUE_BIT = 1 << 31
_LEAF_BIT = 1 << 8
_LOOK_BACK = 16  # positions
_MAX_OFFSET = 1 << 21  # larger ones need darts-clone's shifted form, which a map of this size never does


class _Node:
    __slots__ = ("children", "value")

    def __init__(self) -> None:
        self.children: dict[int, _Node] = {}
        self.value: int | None = None


def pack_charsmap(mapping: Mapping[int, str]) -> bytes:
    """Code point -> replacement (may be empty), as the bytes that `tokenizers.normalizers.Precompiled` reads.

    Raises:
        ValueError: the map holds code point 0, a replacement with a NUL, or too many entries.
    """
    root = _Node()
    replacements = bytearray()
    positions: dict[str, int] = {}
    for code_point, replacement in sorted(mapping.items()):
        if code_point == 0 or "\0" in replacement:
            raise ValueError("NUL cannot be mapped: it ends keys and replacements")
        if replacement not in positions:
            positions[replacement] = len(replacements)
            replacements += replacement.encode("utf-8") + b"\0"
        node = root
        for byte in chr(code_point).encode("utf-8"):
            node = node.children.setdefault(byte, _Node())
        node.value = positions[replacement]
    units = _double_array(root)
    trie = struct.pack(f"<{len(units)}I", *units)
    return struct.pack("<I", len(trie)) + trie + bytes(replacements)


def _double_array(root: _Node) -> list[int]:
    units: dict[int, int] = {0: 0}
    used_bases: set[int] = set()
    pending = [(root, 0)]
    last = 0
    while pending:
        node, position = pending.pop()
        # Label 0 holds the value of a key that ends here.
        labels = ([0] if node.value is not None else []) + sorted(node.children)
        if not labels:
            continue  # the root of an empty map
        # Older holes hardly ever fit; leaving them keeps the search short and the array still small.
        candidate = max(1, last - _LOOK_BACK)
        # Two nodes with one base would see each other's children, so bases are unique.
        while (base := candidate ^ labels[0]) in used_bases or any(base ^ label in units for label in labels):
            candidate += 1
        used_bases.add(base)
        offset = base ^ position
        if offset >= _MAX_OFFSET:
            raise ValueError("the map is too large for the plain form of the trie")
        units[position] |= offset << 10 | (_LEAF_BIT if node.value is not None else 0)
        if node.value is not None:
            units[base] = _VALUE_BIT | node.value
        last = max(last, *(base ^ label for label in labels))
        for label, child in node.children.items():
            units[base ^ label] = label
            pending.append((child, base ^ label))
    # Readers follow `base ^ byte` before they check the label: fill up to whole blocks of 256.
    size = (max(units) // 256 + 1) * 256
    return [units.get(position, _VALUE_BIT) for position in range(size)]
