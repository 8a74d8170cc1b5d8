"""Children: the parts of a parent that are embedded and searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ingest_svc.chunking.model import Boundary, Child, ChunkLimits, Parent, Segment
from ingest_svc.chunking.outline import common_path
from ingest_svc.chunking.parents import is_lead_in, parent_tokens
from ingest_svc.chunking.partition import best_partition
from ingest_svc.chunking.pieces import prose_pieces, row_pieces, rows
from ingest_svc.chunking.tokens import TokenMap
from ingest_svc.document import BlockKind

# Costs of the best cut, chosen, not measured: a child that is too short costs more than any cut but one that
# parts a heading from its content; long children cost the square of their excess over the
# preferred length, so that two good ones beat a single one of twice that length.
_CUT_COST = {
    Boundary.SECTION: 0.0,
    Boundary.BLOCK: 0.1,
    Boundary.ITEM: 0.15,
    Boundary.SENTENCE: 0.3,
    Boundary.CLAUSE: 0.6,
    Boundary.WORD: 1.0,
    Boundary.INSIDE_WORD: 2.0,
}
_LEAD_IN_COST = 0.5
_SHORT_COST = 10.0
_LONGEST_COST = 5.0  # below _SHORT_COST, so that joining a short child always pays
_STRANDED_HEADING_COST = 50.0
# Preferred length, as a multiple of the shortest allowed.
_PREFERRED_LENGTH = 1.3

# A table header or heading prefix beyond this share of the budget is not embedded with the child.
_CONTEXT_SHARE = 3

# Sentences and rows that together have no more tokens are joined beforehand, which bounds the work.
_CRUMB_TOKENS = 12

_PATH_SEPARATOR = " > "
_SEPARATOR_TOKENS = 2


def split_children(
    parent: Parent,
    tokens: TokenMap,
    limits: ChunkLimits,
    overhead: int,
    title: str = "",
    title_tokens: int = 0,
) -> list[Child]:
    """The children of a parent, in order; together they hold every character that is not white space.

    What is embedded of a child never has more than `limits.child_tokens` tokens, with `overhead`. A child has
    at least `limits.child_characters` code points unless joining it with either neighbour would break that
    limit (or the parent is shorter). Rows are kept whole except those longer than a child, which are cut
    between cells, then sentences: the model would not read the end of an uncut one.

    Args:
        parent: the parent.
        tokens: tokens of the rendered document that the parent was cut from.
        limits: sizes.
        overhead: tokens that document prefix and special tokens take, >= 0.
        title: title of the document, embedded before the heading path when `limits.heading_prefix` is on.
        title_tokens: its tokens, >= 0.

    Raises:
        InvalidInput: OUT_OF_RANGE, when `overhead` leaves no room for text.
    """
    budget = limits.child_budget(overhead)
    return _Splitter(parent, parent_tokens(parent, tokens), limits, budget, title, title_tokens).children()


def embedding_text(parent: Parent, child: Child) -> str:
    """What is embedded for a child: heading prefix if any, header of the table it begins in, its text."""
    parts = [child.prefix] if child.prefix else []
    if child.table_header is not None:
        parts.append(parent.text[child.table_header[0] : child.table_header[1]])
    parts.append(child.text)
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class _Splitter:
    parent: Parent
    tokens: TokenMap
    limits: ChunkLimits
    budget: int
    title: str
    title_tokens: int

    def children(self) -> list[Child]:
        atoms = self._without_crumbs(self._atoms())
        shortest = min(self.limits.child_characters, len(self.parent.text))
        preferred = shortest * _PREFERRED_LENGTH
        reserved = self._prefix_reserve()
        cut_costs = [self._cut_cost(atoms, position) for position in range(1, len(atoms) + 1)]

        def cost(first: int, stop: int) -> float | None:
            if stop - first > 1 and self._size(atoms[first], atoms[stop - 1]) + reserved > self.budget:
                return None
            length = atoms[stop - 1].end - atoms[first].start
            if length < shortest:
                total = _SHORT_COST * (2 - length / shortest)
            else:
                total = min(_LONGEST_COST, max(0.0, length / preferred - 1) ** 2)
            return total + cut_costs[stop - 1]

        return [
            self._child(ordinal, atoms[first:stop])
            for ordinal, (first, stop) in enumerate(best_partition(len(atoms), cost))
        ]

    def _atoms(self) -> list[Segment]:
        """Sentences, items and rows, each of at most the budget beside table header and prefix."""
        room = self.budget - self._prefix_reserve()
        atoms: list[Segment] = []
        for segment in self.parent.segments:
            if segment.kind is BlockKind.TABLE:
                header = segment.table_header
                header_tokens = 0 if header is None else self.tokens.count(*header)
                if header_tokens > room // _CONTEXT_SHARE:
                    segment, header_tokens = replace(segment, table_header=None), 0
                whole_rows = rows(self.parent.text, segment)
                if self.tokens.count(whole_rows[0].start, whole_rows[0].end) > room - header_tokens:
                    whole_rows = rows(self.parent.text, segment, header_apart=True)
                for row in whole_rows:
                    atoms.extend(row_pieces(self.parent.text, row, self.tokens, room - header_tokens))
            else:
                atoms.extend(prose_pieces(self.parent.text, segment, self.tokens, room))
        return atoms

    def _without_crumbs(self, atoms: list[Segment]) -> list[Segment]:
        kept: list[Segment] = []
        for atom in atoms:
            crumbs = kept and self.tokens.count(kept[-1].start, atom.end) <= _CRUMB_TOKENS
            if crumbs and _are_alike(kept[-1], atom):
                # A heading with its short text is cut like a heading and has the text's path.
                kept[-1] = replace(atom, start=kept[-1].start, boundary=kept[-1].boundary)
            else:
                kept.append(atom)
        return kept

    def _size(self, first: Segment, last: Segment) -> int:
        size = self.tokens.count(first.start, last.end)
        if first.continues_table and first.table_header is not None:
            size += self.tokens.count(*first.table_header)
        return size

    def _cut_cost(self, atoms: Sequence[Segment], position: int) -> float:
        if position == len(atoms):
            return 0.0
        last = atoms[position - 1]
        if last.kind is BlockKind.HEADING and atoms[position].block != last.block:
            return _STRANDED_HEADING_COST
        cost = _CUT_COST[atoms[position].boundary]
        return cost + _LEAD_IN_COST if is_lead_in(self.parent.text, last) else cost

    def _prefix_reserve(self) -> int:
        """Tokens kept free for the longest prefix of this parent's children."""
        if not self.limits.heading_prefix:
            return 0
        longest = max(sum(h.tokens + _SEPARATOR_TOKENS for h in s.path) for s in self.parent.segments)
        return min(longest + self.title_tokens + _SEPARATOR_TOKENS, self.budget // _CONTEXT_SHARE)

    def _child(self, ordinal: int, atoms: Sequence[Segment]) -> Child:
        path = common_path(atoms)
        start, end = atoms[0].start, atoms[-1].end
        prefix, prefix_tokens = self._prefix([(heading.title, heading.tokens) for heading in path])
        return Child(
            ordinal=ordinal,
            start=start,
            end=end,
            section_path=tuple(heading.title for heading in path),
            text=self.parent.text[start:end],
            table_header=atoms[0].table_header if atoms[0].continues_table else None,
            prefix=prefix,
            tokens=self._size(atoms[0], atoms[-1]) + prefix_tokens,
        )

    def _prefix(self, path: list[tuple[str, int]]) -> tuple[str, int]:
        """Title and path as far as the reserve goes, and their tokens; the outermost are left out first."""
        if not self.limits.heading_prefix:
            return "", 0
        if self.title and (not path or path[0][0] != self.title):
            path.insert(0, (self.title, self.title_tokens))
        kept: list[str] = []
        used = 0
        for name, count in reversed(path):
            if used + count + _SEPARATOR_TOKENS > self._prefix_reserve():
                break
            kept.insert(0, name)
            used += count + _SEPARATOR_TOKENS
        return _PATH_SEPARATOR.join(kept), used


def _are_alike(left: Segment, right: Segment) -> bool:
    """True for pieces of one block, for prose of one section, and for a heading and prose under it."""
    if left.block == right.block:
        return True
    return left.kind is not BlockKind.TABLE and right.kind not in (BlockKind.TABLE, BlockKind.HEADING)
