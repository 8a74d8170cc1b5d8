"""Text to token ids under a prefix, with offsets into the text as it was given."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from inference_svc.triton.errors import StartError

# What a text may begin with: none of it may fuse with the prefix.
_BEGINNINGS = ("a", "Я", "7", "(", "-", ".", "\n", "\u0301", "é", "😀", " a", "<")
_CONTROL_TOKEN = re.compile(r"<.+>|\[.+\]", re.DOTALL)


class PrefixedTokenizer:
    """A fast tokenizer read from a directory. Thread-safe.

    Special tokens come from the tokenizer's own template. What looks like one inside a text ("</s>") is text.

    Args:
        path: tokenizer.json; truncation and padding that it asks for are ignored.
        prefixes: texts that are put before others, each empty or ending with white space.
        vocabulary: rows of the model's embedding table; every id must be below.

    Raises:
        StartError: the file cannot be read or belongs to another model, or a prefix fuses with the text.
    """

    def __init__(self, path: Path, prefixes: Sequence[str], vocabulary: int) -> None:
        self._tokenizer = _load(path)
        largest = max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=0)
        if largest >= vocabulary:
            raise StartError(
                f"{path} belongs to another model: it has ids up to {largest}, the weights have {vocabulary}"
            )
        framed = self._tokenizer.encode("a", add_special_tokens=True)
        own = [index for index, special in enumerate(framed.special_tokens_mask) if not special]
        if not own:
            raise StartError(f"{path} makes no token of a letter: it is damaged")
        self.before = np.array(framed.ids[: own[0]], np.int32)
        self.after = np.array(framed.ids[own[-1] + 1 :], np.int32)
        self._prefix_tokens = {prefix: self._prefix_length(prefix) for prefix in prefixes}

    def prefix_tokens(self, prefix: str) -> int:
        """Tokens that a prefix takes, without special tokens; the same whatever text follows."""
        return self._prefix_tokens[prefix]

    def overhead(self, prefix: str) -> int:
        """Tokens that a prefix and the special tokens add to every text."""
        return len(self.before) + self._prefix_tokens[prefix] + len(self.after)

    def ids(self, prefixed: Sequence[tuple[str, str]]) -> list[NDArray[np.int32]]:
        """Ids of each (prefix, text), without special tokens; not truncated."""
        encodings = self._tokenizer.encode_batch_fast(
            [prefix + text for prefix, text in prefixed], add_special_tokens=False
        )
        return [np.array(encoding.ids, np.int32) for encoding in encodings]

    def counts(self, prefix: str, texts: Sequence[str]) -> list[int]:
        """Tokens of each text behind the prefix: without the prefix's own and without special tokens."""
        taken = self._prefix_tokens[prefix]
        found = self.ids([(prefix, text) for text in texts])
        return [len(ids) - taken if text else 0 for ids, text in zip(found, texts, strict=True)]

    def ids_with_offsets(self, prefix: str, text: str) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Ids of prefix and text, and (tokens, 2) code-point ranges of the text's own tokens.

        `ids` is longer than the offsets by `prefix_tokens(prefix)`. Both columns ascend and lie inside the
        text; every character that is not white space and does not vanish in normalisation lies in a token;
        tokens that are pieces of one character have the same range. White space before a token is no part of
        it, unless the token is nothing else. A token that stands for the end of the prefix alone is (0, 0).
        """
        encoding = self._tokenizer.encode_batch([prefix + text], add_special_tokens=False)[0]
        taken = self._prefix_tokens[prefix]
        raw = np.array(encoding.offsets[taken:], np.int64).reshape(-1, 2) - len(prefix)
        ids = np.array(encoding.ids, np.int32)
        if not text:
            return ids[:taken], np.zeros((0, 2), np.int64)
        return ids, tightened(text, raw)

    def _prefix_length(self, prefix: str) -> int:
        if not prefix:
            return 0
        if not prefix[-1].isspace():
            raise StartError('a prefix ends with a space, else it fuses with the text after it: "query: "')
        alone = self._tokenizer.encode(prefix.rstrip(), add_special_tokens=False).ids
        for beginning in _BEGINNINGS:
            if (
                self._tokenizer.encode(prefix + beginning, add_special_tokens=False).ids[: len(alone)]
                != alone
            ):
                raise StartError(f"this tokenizer joins the prefix {prefix!r} with the text after it")
        return len(alone)


def tightened(text: str, raw: NDArray[np.int64]) -> NDArray[np.int64]:
    """Ranges without leading white space, and with the combining marks that composition took up.

    NFC turns "и" + U+0306 into one character, which the tokenizers library maps back to the "и" alone.

    Args:
        text: not empty.
        raw: (tokens, 2) ranges in code points of the text; may stand out of it where a prefix comes before.
    """
    size = len(text)
    positions = np.arange(size + 1)
    visible = np.array([not character.isspace() for character in text], np.bool_)
    # The first visible character at or after each position, and the end of the last one before it.
    following_visible = np.minimum.accumulate(np.append(np.where(visible, positions[:-1], size), size)[::-1])[
        ::-1
    ]
    visible_end = np.maximum.accumulate(np.append(0, np.where(visible, positions[1:], 0)))
    starts, ends = np.clip(raw, 0, size).T
    moved = following_visible[starts]
    starts = np.where(moved < ends, moved, starts)
    next_starts = np.append(starts[1:], size)
    ends = np.maximum(ends, visible_end[next_starts])
    return np.stack([starts, ends], axis=1)


def _load(path: Path) -> Any:
    try:
        described = json.loads(path.read_text("utf-8"))
        for added in described.get("added_tokens") or []:
            # Some models leave control tokens unmarked (Qwen3's "<think>"), and then read them in any text.
            added["special"] = bool(added["special"] or _CONTROL_TOKEN.fullmatch(added["content"]))
        tokenizer = Tokenizer.from_str(json.dumps(_untrimmed(described)))
    except Exception as error:
        # The library raises bare Exception.
        raise StartError(f"{path} is not a tokenizer that this tokenizers library reads: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _untrimmed(value: Any) -> Any:
    """The description of a tokenizer whose offsets keep white space, wherever it says `trim_offsets`."""
    if isinstance(value, dict):
        return {key: False if key == "trim_offsets" else _untrimmed(each) for key, each in value.items()}
    return [_untrimmed(each) for each in value] if isinstance(value, list) else value
