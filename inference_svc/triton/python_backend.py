"""Between Triton's python backend and plain values; `backend` is its triton_python_backend_utils.

That module exists only inside Triton's process, so it is passed in.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import NDArray

from inference_svc.triton.errors import RequestError


def input_tensors(backend: Any, request: Any, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """The tensors of a request by name; an optional one that was not sent is absent."""
    found = ((name, backend.get_input_tensor_by_name(request, name)) for name in names)
    return {name: tensor.as_numpy() for name, tensor in found if tensor is not None}


def response(backend: Any, request: Any, outcome: Mapping[str, NDArray[Any]] | RequestError) -> Any:
    """Triton's response: the tensors that the caller named, or the error."""
    if isinstance(outcome, RequestError):
        codes = backend.TritonError
        code = {
            "INTERNAL": codes.INTERNAL,
            "CANCELLED": codes.CANCELLED,
            "BACKEND_UNAVAILABLE": codes.UNAVAILABLE,
        }.get(outcome.reason, codes.INVALID_ARG)
        return backend.InferenceResponse(error=backend.TritonError(str(outcome), code))
    named = request.requested_output_names()
    return backend.InferenceResponse(
        [backend.Tensor(name, outcome[name]) for name in outcome if name in named]
    )


def end_server() -> None:
    """Asks Triton, whose child this process is, to end, so that whoever runs it starts it anew.

    The python backend does not replace a process that ended (seen with Triton 2.51): every later request of
    the model would fail, and Triton would still report it ready.
    """
    os.kill(os.getppid(), signal.SIGTERM)
