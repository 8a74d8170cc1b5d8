"""Text to token ids of multilingual-e5-small, with offsets into the text as it was given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

QUERY_PREFIX = "query: "
DOCUMENT_PREFIX = "passage: "


class E5Tokenizer:
    """The loaded tokenizer. Thread-safe.

    Args:
        source: the converted `tokenizer.json`, or a tokenizer already loaded. It splits words before it
            looks for pieces, and knows no special tokens.
    """

    def __init__(self, source: Path | Tokenizer) -> None:
        self._tokenizer = Tokenizer.from_file(str(source)) if isinstance(source, Path) else source
        # Words are split before Unigram runs, so a prefix always takes the same tokens of its own.
        self.prefix_tokens = {
            prefix: len(self._tokenizer.encode(prefix.rstrip(), add_special_tokens=False).ids)
            for prefix in (QUERY_PREFIX, DOCUMENT_PREFIX)
        }

    def ids(self, prefix: str, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """Ids of prefix and text, without `<s>` and `</s>`; not truncated."""
        encodings = self._tokenizer.encode_batch_fast(
            [prefix + text for text in texts], add_special_tokens=False
        )
        return [np.array(encoding.ids, np.int64) for encoding in encodings]

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without prefix and special tokens."""
        own = self.prefix_tokens[DOCUMENT_PREFIX]
        return [len(ids) - own for ids in self.ids(DOCUMENT_PREFIX, texts)]

    def ids_with_offsets(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ids of prefix and text, and (tokens, 2) offsets of the text's own tokens.

        The tokens of DOCUMENT_PREFIX stand before the text's own: `ids` is longer than `offsets` by
        `prefix_tokens[DOCUMENT_PREFIX]`. Offsets ascend and lie inside the text; every character that is
        not white space and does not vanish in normalisation lies in a token.
        """
        # The prefix is tokenised along, even where only offsets are wanted: characters that vanish at the
        # very beginning of the input would shift every offset of the `tokenizers` library.
        encoding = self._tokenizer.encode_batch([DOCUMENT_PREFIX + text], add_special_tokens=False)[0]
        own = self.prefix_tokens[DOCUMENT_PREFIX]
        raw = np.array(encoding.offsets[own:], np.int64).reshape(-1, 2) - len(DOCUMENT_PREFIX)
        return np.array(encoding.ids, np.int64), _tightened(text, raw)


def _tightened(text: str, raw: NDArray[np.int64]) -> NDArray[np.int64]:
    """Offsets without leading white space, and with the combining marks that composition took up.

    NFC turns "и" + U+0306 into one character, which the library maps back to the "и" alone.
    """
    offsets = np.clip(raw, 0, len(text))
    starts, ends = offsets[:, 0].tolist(), offsets[:, 1].tolist()
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        while start < end and text[start].isspace():
            start += 1
        if start < end:
            starts[i] = start
    following = [*starts[1:], len(text)]
    for i, limit in enumerate(following):
        while limit > ends[i] and text[limit - 1].isspace():
            limit -= 1
        ends[i] = max(ends[i], limit)
    return np.stack([np.array(starts, np.int64), np.array(ends, np.int64)], axis=1)
