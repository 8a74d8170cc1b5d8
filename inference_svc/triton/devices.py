"""Where a model runs and in which number format."""

from __future__ import annotations

import torch

from inference_svc.triton.errors import StartError

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
# NVIDIA's first generation with bfloat16 tensor cores is compute capability 8.0 (Ampere).
_BF16_CAPABILITY = (8, 0)


def pick_device(kind: str, device_id: str) -> torch.device:
    """The device of a Triton model instance.

    Args:
        kind: `model_instance_kind` of initialize(), "CPU" or "GPU" (with or without "KIND_").
        device_id: `model_instance_device_id`, the GPU's number as text.

    Raises:
        StartError: Triton gives the instance a GPU that torch cannot use.
    """
    if kind.removeprefix("KIND_").upper() != "GPU":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise StartError(
            "Triton places the model on a GPU, but torch cannot use one: install torch built for the node's "
            "CUDA, or set instance_group kind KIND_CPU"
        )
    index = int(device_id)
    if index >= torch.cuda.device_count():
        raise StartError(f"Triton names GPU {index}, torch sees {torch.cuda.device_count()} GPUs")
    return torch.device("cuda", index)


def pick_dtype(name: str, device: torch.device) -> torch.dtype:
    """The number format of weights and activations.

    T5 was trained in bf16, and its activations can pass 65504, the largest fp16 number: fp16 is for GPUs that
    have nothing better, and vectors that are not finite are reported, never returned.

    Args:
        name: "fp32", "fp16", "bf16", or "auto": fp32 on a CPU, bf16 on GPUs that have it, else fp16.

    Raises:
        StartError: another name, or bf16 on a GPU without it.
    """
    has_bf16 = device.type != "cuda" or torch.cuda.get_device_capability(device) >= _BF16_CAPABILITY
    if name == "auto":
        if device.type != "cuda":
            return torch.float32
        return torch.bfloat16 if has_bf16 else torch.float16
    if name not in DTYPES:
        raise StartError(f"dtype is one of auto, {', '.join(DTYPES)}")
    if name == "bf16" and not has_bf16:
        raise StartError("this GPU has no bf16 arithmetic: set dtype to auto, fp16 or fp32")
    return DTYPES[name]


def is_broken(device: torch.device) -> bool:
    """Whether a GPU answers this process no more: after some CUDA errors it never will."""
    if device.type != "cuda":
        return False
    try:
        torch.cuda.synchronize(device)
    except RuntimeError:
        return True
    return False
