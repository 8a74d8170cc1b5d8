"""The model `frida_tokenizer`: counts and offsets, and what callers must know of FRIDA. Needs no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from inference_svc.triton.frida_settings import FridaSettings, open_frida
from inference_svc.triton.frida_tensors import Tensors, decoded, strings
from inference_svc.triton.parameters import Parameters
from inference_svc.triton.prefixed_tokenizer import PrefixedTokenizer


class FridaTokenizerModel:
    """Answers requests. Thread-safe.

    Args:
        tokenizer: with the prefixes of the settings.
        prefix: of documents; texts are counted as they stand behind it.
        description: constant outputs by name.
        max_characters: of one text.
    """

    def __init__(
        self,
        tokenizer: PrefixedTokenizer,
        prefix: str,
        description: Mapping[str, NDArray[Any]],
        max_characters: int,
    ) -> None:
        self._tokenizer, self._prefix = tokenizer, prefix
        self._description, self._max_characters = dict(description), max_characters

    @classmethod
    def start(cls, args: Mapping[str, str]) -> Self:
        """Loads the tokenizer and hashes the weights.

        Args:
            args: of the python backend's initialize().

        Raises:
            StartError: what is missing or wrong.
        """
        parameters = Parameters(json.loads(args["model_config"]))
        settings = FridaSettings.read(parameters)
        max_characters = parameters.whole("max_text_characters", 1, 100_000_000)
        directory = open_frida(parameters)
        tokenizer = settings.open_tokenizer(directory)
        description = {
            "FINGERPRINT": strings([settings.fingerprint(directory)]),
            "TOKENIZER": strings([directory.tokenizer_digest()[:16]]),
            "DIMENSION": np.array([directory.config["d_model"]], np.int32),
            "WINDOW": np.array([settings.window], np.int32),
            "QUERY_PREFIX": strings([settings.query_prefix]),
            "DOCUMENT_PREFIX": strings([settings.document_prefix]),
            "DOCUMENT_OVERHEAD": np.array([tokenizer.overhead(settings.document_prefix)], np.int32),
        }
        return cls(tokenizer, settings.document_prefix, description, max_characters)

    def answer(self, tensors: Tensors) -> dict[str, NDArray[Any]]:
        """All outputs.

        Args:
            tensors: TEXT, an object array of bytes (n,), may be empty; WANT_OFFSETS (1,) bool.

        Raises:
            RequestError: INVALID_FIELD, TEXT_TOO_LONG.
        """
        texts = decoded(tensors["TEXT"], self._max_characters)
        offsets: list[NDArray[np.int64]] = []
        if tensors["WANT_OFFSETS"].any():
            offsets = [self._tokenizer.ids_with_offsets(self._prefix, text)[1] for text in texts]
            counts = [len(each) for each in offsets]
        else:
            counts = self._tokenizer.counts(self._prefix, texts)
        return {
            "COUNT": np.array(counts, np.int32),
            "OFFSETS": np.concatenate([np.zeros((0, 2), np.int64), *offsets]).astype(np.int32),
            **self._description,
        }
