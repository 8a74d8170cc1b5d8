"""Token counts of any part of a text, from one tokenisation of the whole."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from ingest_svc.chunking.ranges import Range
from radref.errors import InvalidInput


class TokenMap:
    """Where the tokens of a text stand. Immutable."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, text: str, offsets: Iterable[Range]) -> None:
        """
        Args:
            text: the text that was tokenised.
            offsets: (start, end) of every token in code points of `text`, in order, as the Tokenize RPC
                returns them. White space that a token includes (SentencePiece puts the blank before a word
                into the word's token) is taken off, so that a cut beside a blank cuts no token.

        Raises:
            InvalidInput: INVALID_SPAN, when a token lies outside the text or begins or ends before the one
                before it.
        """
        starts, ends = array("q"), array("q")
        previous_start, previous_end, size = 0, 0, len(text)
        for start, end in offsets:
            if not (previous_start <= start <= end <= size) or end < previous_end:
                raise InvalidInput(
                    "Token offsets do not fit the text they were made for.",
                    reason="INVALID_SPAN",
                    field="offsets",
                )
            previous_start, previous_end = start, end
            while start < end and text[start].isspace():
                start += 1
            while end > start and text[end - 1].isspace():
                end -= 1
            # A token of white space only (a word mark of its own) belongs to the character after it.
            starts.append(start)
            ends.append(max(end, start + 1))
        self._starts, self._ends = starts, ends

    @classmethod
    def _of(cls, starts: array[int], ends: array[int]) -> TokenMap:
        made = cls.__new__(cls)
        made._starts, made._ends = starts, ends
        return made

    def __len__(self) -> int:
        return len(self._starts)

    def count(self, start: int, end: int) -> int:
        """An upper bound of the tokens of the text at [start, end), without prefix and special tokens.

        Exact where no token is cut and the tokenizer does not join words. A token cut by an end counts
        as many tokens as it has code points inside, and one for a word mark.
        """
        if end <= start:
            return 0
        first = bisect_right(self._ends, start)
        stop = bisect_left(self._starts, end)
        if stop <= first:
            return 0
        total = stop - first
        if self._starts[first] < start:
            total += min(self._ends[first], end) - start
        if self._ends[stop - 1] > end and (stop - 1 > first or self._starts[first] >= start):
            total += end - self._starts[stop - 1]
        return total

    def advance(self, start: int, tokens: int, end: int) -> int:
        """The farthest token boundary in (start, end] with at most `tokens` tokens from `start` to it.

        At least one code point away, even if that has more tokens.
        """
        first = bisect_right(self._ends, start)
        position = first + tokens
        reached = self._starts[position] if position < len(self._starts) else end
        return min(max(reached, start + 1), end)

    def joined(self, parts: Sequence[tuple[Range, int]]) -> TokenMap:
        """The map of a text put together from parts of this map's text.

        Args:
            parts: ((start, end), offset): the part of this text that stands at `offset` in the new one, in
                order.
        """
        starts, ends = array("q"), array("q")
        for (start, end), offset in parts:
            first = bisect_right(self._ends, start)
            stop = bisect_left(self._starts, end)
            shift = offset - start
            starts.extend(max(at, start) + shift for at in self._starts[first:stop])
            ends.extend(min(at, end) + shift for at in self._ends[first:stop])
        return TokenMap._of(starts, ends)
