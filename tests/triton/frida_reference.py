"""FRIDA the slow and obvious way: one text at a time, no padding, loops over characters and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerFast, T5EncoderModel

QUERY_PREFIX, DOCUMENT_PREFIX = "search_query: ", "search_document: "
WINDOW, STRIDE = 512, 256


class FridaReference:
    """The model card's example, and late chunking as its paper describes it.

    Args:
        path: model directory.
    """

    def __init__(self, path: Path) -> None:
        torch.set_num_threads(1)
        self.tokenizer = PreTrainedTokenizerFast.from_pretrained(path)
        self.model = T5EncoderModel.from_pretrained(path).eval()

    def token_count(self, prefixed: str) -> int:
        """With special tokens."""
        return len(self.tokenizer(prefixed, truncation=False)["input_ids"])

    def text_vector(self, prefixed: str, pooling: str = "cls") -> NDArray[np.float64]:
        """Unit vector of a text with its prefix."""
        ids = self.tokenizer(prefixed, truncation=True, max_length=WINDOW, padding=False)["input_ids"]
        vectors = self.token_vectors(ids)
        return unit(vectors[0] if pooling == "cls" else vectors.mean(axis=0))

    def span_vectors(self, text: str, spans: Sequence[tuple[int, int]]) -> list[NDArray[np.float64]]:
        """Unit vectors of child spans of a document."""
        encoded = self.tokenizer(
            DOCUMENT_PREFIX + text, add_special_tokens=False, truncation=False, return_offsets_mapping=True
        )
        prefix_tokens = len(self.tokenizer(DOCUMENT_PREFIX.strip(), add_special_tokens=False)["input_ids"])
        ids = encoded["input_ids"]
        offsets = [
            (start - len(DOCUMENT_PREFIX), end - len(DOCUMENT_PREFIX))
            for start, end in encoded["offset_mapping"][prefix_tokens:]
        ]
        vectors = self._windowed(ids[:prefix_tokens], ids[prefix_tokens:])
        found = []
        for start, end in spans:
            inside = [
                token
                for token, (first, last) in enumerate(offsets)
                if max(start, visible_start(text, first, last)) < min(end, last)
            ]
            found.append(unit(np.mean([vectors[token] for token in inside], axis=0)))
        return found

    def token_vectors(self, ids: Sequence[int]) -> NDArray[np.float64]:
        """(tokens, dimension)."""
        with torch.no_grad():
            hidden = self.model(input_ids=torch.tensor([list(ids)])).last_hidden_state[0]
        return np.array(hidden, np.float64)

    def _windowed(self, prefix: list[int], ids: list[int]) -> list[NDArray[np.float64]]:
        first, last = self.tokenizer.bos_token_id, self.tokenizer.eos_token_id
        room = WINDOW - len(prefix) - 2
        windows = []
        for start in range(0, len(ids), STRIDE):
            own = ids[start : start + room]
            vectors = self.token_vectors([first, *prefix, *own, last])[1 + len(prefix) : -1]
            windows.append((start, start + len(own), vectors))
            if start + room >= len(ids):
                break
        found = []
        for token in range(len(ids)):
            holding = [each for each in windows if each[0] <= token < each[1]]
            if len(holding) == 1:
                start, _, vectors = holding[0]
            else:
                # In the first half of the overlap the earlier window sees more on both sides.
                (_, early_end, _), (late_start, _, _) = holding
                start, _, vectors = holding[int(token >= (late_start + early_end) // 2)]
            found.append(vectors[token - start])
        return found


def visible_start(text: str, start: int, end: int) -> int:
    """Where a token begins, without the white space before it unless it is nothing else."""
    for position in range(max(start, 0), end):
        if not text[position].isspace():
            return position
    return start


def unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """The vector with L2 norm 1."""
    return vector / np.linalg.norm(vector)
