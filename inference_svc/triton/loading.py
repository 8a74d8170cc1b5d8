"""Weights from a checked directory into a module of transformers, or an error that says why not."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from typing import Any

# Before transformers is imported: it reads them once.
os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"

import torch
from transformers import PreTrainedModel

from inference_svc.triton.errors import StartError
from inference_svc.triton.weights import ModelDirectory

# T5's and Qwen3's names of a layer.
_LAYER = re.compile(r"\b(?:encoder\.block|layers)\.\d+\.")


def load_model(
    model_class: type[PreTrainedModel],
    directory: ModelDirectory,
    *,
    device: torch.device,
    dtype: torch.dtype,
    fp32_parts: Collection[str] = (),
) -> Any:
    """The model in evaluation mode on its device.

    Args:
        model_class: e.g. T5EncoderModel; its code is transformers' own, never the directory's.
        fp32_parts: last-but-one names of parameters that stay fp32 where `dtype` is fp16, e.g. {"wo"}.

    Raises:
        StartError: weights are missing, of another shape, not finite, or too large for the data type.
    """
    try:
        model, report = model_class.from_pretrained(
            directory.path, local_files_only=True, use_safetensors=True, output_loading_info=True
        )
    except (OSError, ValueError, RuntimeError, TypeError, KeyError) as error:
        raise StartError(
            f"transformers cannot read {directory.path} as {model_class.__name__}: {error}"
        ) from error
    # transformers fills in random numbers for these, and would serve them.
    missing = sorted(report["missing_keys"])
    if missing:
        raise StartError(
            f"{directory.path} lacks weights of {model_class.__name__}: {len(missing)} tensors, "
            f"e.g. {missing[0]}"
        )
    # A config with fewer layers than the weights would load without a word, and compute something else.
    surplus = sorted(name for name in report["unexpected_keys"] if _LAYER.search(name))
    if surplus:
        raise StartError(
            f"config.json in {directory.path} describes fewer layers than the weights have: {surplus[0]} "
            "belongs to none"
        )
    for name, parameter in model.named_parameters():
        if not bool(torch.isfinite(parameter).all()):
            raise StartError(f"{directory.path} holds numbers that are not finite, in {name}: copy it again")
        keep = dtype is torch.float16 and name.split(".")[-2] in fp32_parts
        parameter.data = parameter.data.to(device, torch.float32 if keep else dtype)
        if not bool(torch.isfinite(parameter).all()):
            raise StartError(
                f"{name} of {directory.path} does not fit into {dtype}: set dtype to bf16 or fp32"
            )
    return model.to(device).eval()
