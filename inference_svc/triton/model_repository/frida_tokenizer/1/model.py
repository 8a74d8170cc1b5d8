"""Triton's entry to FRIDA's tokenizer. All logic is in inference_svc.triton.frida_tokenizer_model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import triton_python_backend_utils as pb_utils

# The directory that holds the package inference_svc, whose other dependencies are not needed here.
sys.path.insert(0, str(Path(__file__).resolve().parents[5]))

from inference_svc.triton.errors import RequestError
from inference_svc.triton.frida_tokenizer_model import FridaTokenizerModel
from inference_svc.triton.python_backend import input_tensors, response


class TritonPythonModel:
    """The interface that the python backend calls."""

    def initialize(self, args: dict[str, str]) -> None:
        self._model = FridaTokenizerModel.start(args)

    def execute(self, requests: list[Any]) -> list[Any]:
        return [response(pb_utils, request, self._outcome(request)) for request in requests]

    def _outcome(self, request: Any) -> Any:
        if request.is_cancelled():
            return RequestError("CANCELLED", "the caller went away")
        try:
            return self._model.answer(input_tensors(pb_utils, request, ("TEXT", "WANT_OFFSETS")))
        except RequestError as error:
            return error
        except Exception as error:  # noqa: BLE001 - Triton would send its text, which may quote the request
            pb_utils.Logger.log_error(f"frida_tokenizer failed: {type(error).__name__}")
            return RequestError("INTERNAL", "the tokenizer failed")
