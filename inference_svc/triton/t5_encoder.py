"""A T5 encoder that sums token vectors where they are made, so that only sums leave the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """What goes through the encoder as one row.

    Attributes:
        ids: (tokens,) with prefix and special tokens, at least one.
        ranges: (ranges, 2) positions [first, last) in `ids` to sum the vectors of; each holds at least one.
    """

    ids: NDArray[np.int32]
    ranges: NDArray[np.int64]


class T5Encoder:
    """The loaded model. One thread at a time.

    Args:
        model: T5EncoderModel of transformers on its device, in evaluation mode.
        device: where it is.
    """

    def __init__(self, model: Any, device: torch.device) -> None:
        self._model, self._device = model, device

    def range_sums(self, sequences: Sequence[TokenSequence]) -> list[NDArray[np.float32]]:
        """One (ranges, dimension) array a sequence; sums are made in fp32.

        Where the device's memory does not suffice for all of them at once, it tries halves.

        Args:
            sequences: at least one, padded to the longest.

        Raises:
            torch.OutOfMemoryError: not even one sequence fits.
        """
        try:
            with torch.inference_mode():
                return self._range_sums(sequences)
        except torch.OutOfMemoryError:
            if len(sequences) == 1:
                raise
        # Outside the handler: its traceback would hold on to the tensors that did not fit.
        torch.cuda.empty_cache()
        middle = len(sequences) // 2
        return self.range_sums(sequences[:middle]) + self.range_sums(sequences[middle:])

    def _range_sums(self, sequences: Sequence[TokenSequence]) -> list[NDArray[np.float32]]:
        width = max(len(sequence.ids) for sequence in sequences)
        # The padding's id does not matter, attention leaves it out; 0 is in every vocabulary.
        ids = np.zeros((len(sequences), width), np.int64)
        mask = np.zeros((len(sequences), width), np.int64)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence.ids)] = sequence.ids
            mask[row, : len(sequence.ids)] = 1
        hidden = self._model(
            input_ids=torch.from_numpy(ids).to(self._device),
            attention_mask=torch.from_numpy(mask).to(self._device),
        ).last_hidden_state
        edges = torch.from_numpy(np.concatenate([each.ranges for each in sequences])).to(self._device)
        counts = [len(sequence.ranges) for sequence in sequences]
        sums = [
            _sums(vectors[: len(sequence.ids)], own)
            for vectors, sequence, own in zip(hidden, sequences, edges.split(counts), strict=True)
        ]
        found: NDArray[np.float32] = torch.cat(sums).cpu().numpy()
        return np.split(found, np.cumsum(counts)[:-1])


def _sums(vectors: torch.Tensor, ranges: torch.Tensor) -> torch.Tensor:
    positions = torch.arange(len(vectors), device=vectors.device)
    members = (positions >= ranges[:, :1]) & (positions < ranges[:, 1:])
    return members.float() @ vectors.float()
