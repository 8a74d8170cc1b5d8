"""The model `frida`: what initialize() makes and execute() asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import torch
from numpy.typing import NDArray

from inference_svc.triton.devices import pick_device, pick_dtype
from inference_svc.triton.embed_calls import EmbedCall
from inference_svc.triton.errors import RequestError, StartError
from inference_svc.triton.frida_settings import FridaSettings, open_frida
from inference_svc.triton.frida_tensors import Tensors, embed_call, embed_outputs
from inference_svc.triton.loading import load_model
from inference_svc.triton.parameters import Parameters
from inference_svc.triton.t5_embedder import T5Embedder
from inference_svc.triton.t5_encoder import T5Encoder


class FridaModel:
    """Answers requests. One thread at a time.

    Args:
        embedder: the loaded model.
        fingerprint: sent with every answer.
        max_characters: of one text.
        device: where the model is.
        summary: one line for the log, what was loaded and how.
    """

    def __init__(
        self, embedder: T5Embedder, fingerprint: str, max_characters: int, device: torch.device, summary: str
    ) -> None:
        self._embedder, self._fingerprint, self._max_characters = embedder, fingerprint, max_characters
        self.device, self.summary = device, summary

    @classmethod
    def start(cls, args: Mapping[str, str]) -> Self:
        """Loads the model and lets it answer once.

        Args:
            args: of the python backend's initialize().

        Raises:
            StartError: what is missing or wrong.
        """
        # transformers takes seconds to import: only the process that serves the model pays for it.
        from transformers import T5EncoderModel

        parameters = Parameters(json.loads(args["model_config"]))
        settings = FridaSettings.read(parameters)
        max_characters = parameters.whole("max_text_characters", 1, 10_000_000)
        device = pick_device(args["model_instance_kind"], args["model_instance_device_id"])
        dtype = pick_dtype(parameters.text("dtype"), device)
        directory = open_frida(parameters)
        tokenizer = settings.open_tokenizer(directory)
        # `wo` overflows in fp16 (transformers keeps it in fp32 for the same reason).
        model = load_model(T5EncoderModel, directory, device=device, dtype=dtype, fp32_parts={"wo"})
        dimension = int(directory.config["d_model"])
        embedder = T5Embedder(tokenizer, T5Encoder(model, device), dimension, settings)
        _warm_up(embedder, settings, full=device.type == "cuda")
        mark = settings.fingerprint(directory)
        summary = (
            f"frida serves {directory.path} on {device} in {dtype}: fingerprint {mark}, "
            f"{dimension} dimensions, window {settings.window}, pooling {settings.pooling}, "
            f"special tokens {tokenizer.before.tolist()} before and {tokenizer.after.tolist()} after a text"
        )
        return cls(embedder, mark, max_characters, device, summary)

    def answer(
        self, requests: Sequence[Tensors], wanted: Callable[[int], bool]
    ) -> list[dict[str, NDArray[Any]] | RequestError]:
        """Output tensors, or an error, for each request.

        Args:
            requests: input tensors by name.
            wanted: whether the caller of request i still waits.
        """
        answers: list[dict[str, NDArray[Any]] | RequestError] = []
        calls: list[EmbedCall] = []
        places: list[int] = []
        for place, tensors in enumerate(requests):
            try:
                calls.append(embed_call(tensors, self._max_characters))
                places.append(place)
                answers.append({})
            except RequestError as error:
                answers.append(error)
        found = self._embedder.embed(calls, lambda index: wanted(places[index]))
        for place, each in zip(places, found, strict=True):
            if isinstance(each, RequestError):
                answers[place] = each
            else:
                answers[place] = embed_outputs(each, self._fingerprint)
        return answers


def _warm_up(embedder: T5Embedder, settings: FridaSettings, *, full: bool) -> None:
    """One question; on a GPU also the largest batch, so that too little memory shows at start."""
    texts = ["readiness"]
    if full:
        texts += ["radiology " * settings.window] * (settings.batch_tokens // settings.window)
    (answer,) = embedder.embed([EmbedCall(texts, [True] * len(texts))])
    if isinstance(answer, RequestError):
        raise StartError(
            f"the model does not answer a first request: {answer}. Damaged weights, numbers that do not fit "
            "into fp16 (set dtype to bf16 or fp32), or too little memory (lower batch_tokens)"
        )
