"""Triton's entry to Qwen3-Reranker: tensors in, tensors out. All logic is in inference_svc.triton."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import triton_python_backend_utils as pb_utils

# The directory that holds the package inference_svc, whose other dependencies are not needed here.
sys.path.insert(0, str(Path(__file__).resolve().parents[5]))

from inference_svc.triton.devices import is_broken
from inference_svc.triton.errors import RequestError
from inference_svc.triton.python_backend import end_server, input_tensors, response
from inference_svc.triton.qwen3_reranker_model import INPUTS, RerankerModel


class TritonPythonModel:
    """The interface that the python backend calls."""

    def initialize(self, args: dict[str, str]) -> None:
        self._model = RerankerModel.start(args)
        pb_utils.Logger.log_info(self._model.summary)

    def execute(self, requests: list[Any]) -> list[Any]:
        tensors = [input_tensors(pb_utils, request, INPUTS) for request in requests]
        try:
            outcomes = self._model.answer(tensors, lambda index: not requests[index].is_cancelled())
        except Exception as error:  # noqa: BLE001 - Triton would send its text, which may quote the request
            pb_utils.Logger.log_error(f"qwen3_reranker failed: {type(error).__name__}")
            outcomes = [RequestError("INTERNAL", "the model failed")] * len(requests)
            if is_broken(self._model.device):
                outcomes = [RequestError("BACKEND_UNAVAILABLE", "the GPU does not answer")] * len(requests)
                pb_utils.Logger.log_error("qwen3_reranker ends the server, because its GPU does not answer")
                end_server()
        return [response(pb_utils, *each) for each in zip(requests, outcomes, strict=True)]
