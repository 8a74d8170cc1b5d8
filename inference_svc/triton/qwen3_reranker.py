"""Qwen3-Reranker: how relevant a document is for a question, by the model's own "yes" and "no"."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from inference_svc.triton.batches import length_sorted_batches
from inference_svc.triton.errors import RequestError, StartError
from inference_svc.triton.loading import load_model
from inference_svc.triton.qwen3_reranker_template import HEAD, PREFIX, SUFFIX, EncodedPair, Pair, PairEncoder
from inference_svc.triton.weights import ModelDirectory, fingerprint

ARCHITECTURES = ("Qwen3ForCausalLM",)


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """Relevance of one document.

    Attributes:
        score: probability of "yes" against "no", 0 to 1, finite.
        truncated: whether the end of the document was left out.
    """

    score: float
    truncated: bool


class Qwen3Reranker:
    """The loaded model. Not to be called by two threads at once.

    Causal attention never looks ahead, so rows are padded on the right without a mask and read at their
    last own token: exact, and the fastest attention kernels take no mask.

    Args:
        encoder: template and tokenizer of the same model.
        backbone: transformers' Qwen3Model, the decoder without its head.
        answers: (2, hidden) rows of the head for "no" and "yes", fp32, on the backbone's device.
        fingerprint: 16 hexadecimal digits.
        batch_tokens: padded tokens that go through the model at once, >= 1; a longer pair goes alone.
    """

    def __init__(
        self, encoder: PairEncoder, backbone: Any, answers: Tensor, *, fingerprint: str, batch_tokens: int
    ) -> None:
        self._encoder = encoder
        self._backbone = backbone
        self._answers = answers
        self._batch_tokens = batch_tokens
        self.fingerprint = fingerprint
        self.window = encoder.window

    def score(
        self,
        pairs: Sequence[Pair],
        owners: Sequence[int] | None = None,
        wanted: Callable[[int], bool] = lambda _: True,
    ) -> list[ScoredPair | RequestError]:
        """One outcome a pair, in the order of the pairs; what fails for one leaves the others alone.

        A RequestError in place of a score is TEXT_TOO_LONG (no room for the document beside its query),
        INTERNAL (the model's output is no finite number), BACKEND_UNAVAILABLE (this pair by itself does not
        fit into memory) or CANCELLED.

        Args:
            pairs: any number.
            owners: request to which each pair belongs; None = each is a request of its own.
            wanted: whether the caller of request i still waits; asked once before every batch that holds it.
        """
        owner_of = range(len(pairs)) if owners is None else owners
        outcomes: dict[int, ScoredPair | RequestError] = {}
        rows: list[tuple[int, EncodedPair]] = []
        for index, encoded in enumerate(self._encoder.encode(pairs)):
            if isinstance(encoded, RequestError):
                outcomes[index] = encoded
            else:
                rows.append((index, encoded))
        for batch in length_sorted_batches([len(encoded.ids) for _, encoded in rows], self._batch_tokens):
            members = [rows[place] for place in batch]
            waiting = {owner: wanted(owner) for owner in {owner_of[index] for index, _ in members}}
            live = [(index, encoded) for index, encoded in members if waiting[owner_of[index]]]
            if live:
                scores = self._scores([encoded.ids for _, encoded in live])
                for (index, encoded), score in zip(live, scores, strict=True):
                    outcomes[index] = _outcome(score, truncated=encoded.truncated)
        gone = RequestError("CANCELLED", "the caller went away")
        return [outcomes.get(index, gone) for index in range(len(pairs))]

    def _scores(self, inputs: Sequence[Sequence[int]]) -> list[float | None]:
        """Scores of inputs that go through the model together, or in halves where memory is short.

        None in place of a score: this input does not even fit by itself.
        """
        try:
            return [*self._forward(inputs)]
        except torch.OutOfMemoryError:
            pass
        # Outside the except clause, whose traceback would keep the tensors of the failed attempt alive.
        if self._answers.is_cuda:
            torch.cuda.empty_cache()
        if len(inputs) == 1:
            return [None]
        middle = len(inputs) // 2
        return self._scores(inputs[:middle]) + self._scores(inputs[middle:])

    def _forward(self, inputs: Sequence[Sequence[int]]) -> list[float]:
        device = self._answers.device
        padded = torch.zeros((len(inputs), max(map(len, inputs))), dtype=torch.long)
        for row, ids in enumerate(inputs):
            padded[row, : len(ids)] = torch.tensor(ids)
        last = torch.tensor([len(ids) - 1 for ids in inputs], device=device)
        with torch.inference_mode():
            hidden = self._backbone(input_ids=padded.to(device), use_cache=False).last_hidden_state
            at_last = hidden[torch.arange(len(inputs), device=device), last].float()
            no_yes = torch.softmax(at_last @ self._answers.T, dim=-1)
        return [float(score) for score in no_yes[:, 1].tolist()]


def load_reranker(
    directory: ModelDirectory, *, window: int, batch_tokens: int, device: torch.device, dtype: torch.dtype
) -> Qwen3Reranker:
    """Loads a Qwen3-Reranker (0.6B, 4B or 8B).

    Args:
        directory: opened for ARCHITECTURES.
        window: tokens read at once, template included; at most what the model has positions for. The model
            card's code reads 8192.
        batch_tokens: padded tokens that go through the model at once, >= 1.
        device: where it runs.
        dtype: of weights and activations; the score itself is computed in fp32.

    Raises:
        StartError: the directory holds something else, or `window` does not fit the model.
    """
    # Here, because loading.py, imported above, must have taken transformers off the network before.
    from transformers import Qwen3ForCausalLM

    encoder = PairEncoder(directory.tokenizer, window)
    model = load_model(Qwen3ForCausalLM, directory, device=device, dtype=dtype)
    if window > model.config.max_position_embeddings:
        raise StartError(
            f"window is {window} tokens, the model in {directory.path} has "
            f"{model.config.max_position_embeddings} positions"
        )
    if encoder.largest_id >= model.config.vocab_size:
        raise StartError(
            f"{directory.tokenizer} belongs to another model: it knows more tokens than the weights beside it"
        )
    # A copy of two rows: the rest of a head that shares nothing with the embedding is freed with `model`.
    answers = model.lm_head.weight[[encoder.no_id, encoder.yes_id]].detach().float()
    print_of = fingerprint(directory.content_digest(), PREFIX, HEAD, SUFFIX, str(window))
    return Qwen3Reranker(encoder, model.model, answers, fingerprint=print_of, batch_tokens=batch_tokens)


def _outcome(score: float | None, *, truncated: bool) -> ScoredPair | RequestError:
    if score is None:
        return RequestError(
            "BACKEND_UNAVAILABLE", "the device has not enough memory left for this question with one document"
        )
    if not math.isfinite(score):
        return RequestError(
            "INTERNAL", "the reranker's output is no finite number; where its dtype is fp16, set bf16 or fp32"
        )
    return ScoredPair(score, truncated)
