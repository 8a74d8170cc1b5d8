"""The model `qwen3_reranker`: what initialize() makes and execute() asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from inference_svc.triton.devices import pick_device, pick_dtype
from inference_svc.triton.errors import RequestError, StartError
from inference_svc.triton.frida_tensors import Tensors, decoded, strings
from inference_svc.triton.parameters import Parameters
from inference_svc.triton.qwen3_reranker import ARCHITECTURES, Qwen3Reranker, ScoredPair, load_reranker
from inference_svc.triton.qwen3_reranker_template import Pair
from inference_svc.triton.weights import open_model_directory

DIRECTORY_VARIABLE = "RADREF_TRITON_QWEN3_RERANKER_DIR"
INPUTS = ("QUERY", "DOCUMENT", "INSTRUCTION")
# The template takes some 60 tokens; below this there is no room for a question with a document.
MIN_WINDOW = 256
# Context length of the model cards.
MAX_WINDOW = 32768


class RerankerModel:
    """Answers requests. One thread at a time.

    Args:
        reranker: the loaded model.
        max_characters: of one text.
        device: where the model is.
        summary: one line for the log, what was loaded and how.
    """

    def __init__(
        self, reranker: Qwen3Reranker, max_characters: int, device: torch.device, summary: str
    ) -> None:
        self._reranker, self._max_characters = reranker, max_characters
        self.device, self.summary = device, summary

    @classmethod
    def start(cls, args: Mapping[str, str]) -> Self:
        """Loads the model and lets it answer once.

        Args:
            args: of the python backend's initialize().

        Raises:
            StartError: what is missing or wrong.
        """
        parameters = Parameters(json.loads(args["model_config"]))
        window = parameters.whole("window", MIN_WINDOW, MAX_WINDOW)
        batch_tokens = parameters.whole("batch_tokens", window, 1 << 20)
        max_characters = parameters.whole("max_text_characters", 1, 10_000_000)
        device = pick_device(args["model_instance_kind"], args["model_instance_device_id"])
        dtype = pick_dtype(parameters.text("dtype"), device)
        directory = open_model_directory(
            parameters.directory("model_dir", DIRECTORY_VARIABLE),
            ARCHITECTURES,
            origin="Qwen/Qwen3-Reranker-0.6B",
        )
        reranker = load_reranker(
            directory, window=window, batch_tokens=batch_tokens, device=device, dtype=dtype
        )
        _warm_up(reranker, batch_tokens // window if device.type == "cuda" else 0)
        summary = (
            f"qwen3_reranker serves {directory.path} on {device} in {dtype}: fingerprint "
            f"{reranker.fingerprint}, window {window}, batches of {batch_tokens} tokens"
        )
        return cls(reranker, max_characters, device, summary)

    def answer(
        self, requests: Sequence[Tensors], wanted: Callable[[int], bool]
    ) -> list[dict[str, NDArray[Any]] | RequestError]:
        """Output tensors, or an error, for each request.

        Args:
            requests: input tensors by name.
            wanted: whether the caller of request i still waits.
        """
        rows: list[Pair] = []
        owners: list[int] = []
        failed: dict[int, RequestError] = {}
        for place, tensors in enumerate(requests):
            try:
                pairs = request_pairs(tensors, self._max_characters)
            except RequestError as error:
                failed[place] = error
                continue
            rows += pairs
            owners += [place] * len(pairs)
        found: list[list[ScoredPair]] = [[] for _ in requests]
        for place, outcome in zip(owners, self._reranker.score(rows, owners, wanted), strict=True):
            if isinstance(outcome, RequestError):
                failed.setdefault(place, outcome)
            else:
                found[place].append(outcome)
        return [failed.get(place) or self._outputs(found[place]) for place in range(len(requests))]

    def _outputs(self, found: Sequence[ScoredPair]) -> dict[str, NDArray[Any]]:
        count = len(found)
        return {
            "SCORE": np.array([each.score for each in found], np.float32).reshape(count, 1),
            "TRUNCATED": np.array([each.truncated for each in found], np.bool_).reshape(count, 1),
            "FINGERPRINT": strings([self._reranker.fingerprint] * count).reshape(count, 1),
            "WINDOW": np.full((count, 1), self._reranker.window, np.int32),
        }


def request_pairs(tensors: Tensors, max_characters: int) -> list[Pair]:
    """The request of `qwen3_reranker`.

    Args:
        tensors: QUERY, DOCUMENT and INSTRUCTION, object arrays of bytes (n, 1).
        max_characters: of each text.

    Raises:
        RequestError: EMPTY_TEXT, TEXT_TOO_LONG, INVALID_FIELD.
    """
    columns = [decoded(tensors[name], max_characters) for name in INPUTS]
    for name, texts in zip(INPUTS, columns, strict=True):
        if not all(text.strip() for text in texts):
            raise RequestError("EMPTY_TEXT", f"a text of {name} is empty or only white space")
    if len({len(texts) for texts in columns}) != 1:
        raise RequestError("INVALID_FIELD", "QUERY, DOCUMENT and INSTRUCTION hold one text a pair")
    return [Pair(query, document, instruction) for query, document, instruction in zip(*columns, strict=True)]


def _warm_up(reranker: Qwen3Reranker, full_windows: int) -> None:
    """One pair, and the largest batch where memory is the device's own, so that too little shows at start."""
    documents = ["readiness"] + ["radiology " * reranker.window] * full_windows
    for outcome in reranker.score([Pair("readiness", document, "readiness") for document in documents]):
        if isinstance(outcome, RequestError):
            raise StartError(
                f"the model does not answer a first request: {outcome}. Damaged weights, numbers that do not "
                "fit into fp16 (set dtype to bf16 or fp32), or too little memory (lower batch_tokens)"
            )
