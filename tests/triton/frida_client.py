"""Requests to `frida` and `frida_tokenizer` over KServe v2 gRPC, as inference_svc makes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tritonclient.grpc.aio as triton

QUESTION_PRIORITY, DOCUMENT_PRIORITY = 1, 2


def texts_input(name: str, texts: Sequence[str | bytes], *, column: bool) -> triton.InferInput:
    """A BYTES tensor, (n, 1) or (n,)."""
    raw = np.array([text.encode() if isinstance(text, str) else text for text in texts], np.object_)
    values = raw.reshape(-1, 1) if column else raw
    tensor = triton.InferInput(name, list(values.shape), "BYTES")
    tensor.set_data_from_numpy(values)
    return tensor


async def embed(
    client: triton.InferenceServerClient,
    texts: Sequence[str | bytes],
    kind: str | Sequence[str] = "query",
    spans: Sequence[tuple[int, int]] | None = None,
) -> Any:
    """The raw answer of `frida`."""
    kinds = [kind] * len(texts) if isinstance(kind, str) else kind
    inputs = [texts_input("TEXT", texts, column=True), texts_input("KIND", kinds, column=True)]
    if spans is not None:
        edges = np.array(spans, np.int32).reshape(1, -1)
        tensor = triton.InferInput("SPANS", list(edges.shape), "INT32")
        tensor.set_data_from_numpy(edges)
        inputs.append(tensor)
    priority = QUESTION_PRIORITY if kind == "query" else DOCUMENT_PRIORITY
    return await client.infer("frida", inputs, priority=priority, client_timeout=120.0)


async def tokenize(
    client: triton.InferenceServerClient,
    texts: Sequence[str],
    outputs: Sequence[str],
    *,
    offsets: bool = False,
) -> Any:
    """The raw answer of `frida_tokenizer`."""
    wanted = triton.InferInput("WANT_OFFSETS", [1], "BOOL")
    wanted.set_data_from_numpy(np.array([offsets]))
    return await client.infer(
        "frida_tokenizer",
        [texts_input("TEXT", texts, column=False), wanted],
        outputs=[triton.InferRequestedOutput(name) for name in outputs],
        client_timeout=60.0,
    )
