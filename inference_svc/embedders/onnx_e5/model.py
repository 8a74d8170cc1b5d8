"""A model that is loaded and what the embedder must know of it, wherever its files came from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inference_svc.embedders.onnx_e5.cache import converted_model
from inference_svc.embedders.onnx_e5.encoder import E5Encoder
from inference_svc.embedders.onnx_e5.tokenizer import DOCUMENT_PREFIX, QUERY_PREFIX, E5Tokenizer
from inference_svc.embedders.onnx_e5.tokenizer_json import PIPELINE

# Mean over all tokens of the attention mask, then L2 norm, as the e5 authors pool (Wang et al. 2024,
# arXiv:2402.05672). Part of the fingerprint, like the arithmetic.
POOLING = "mean,l2,fp32"


@dataclass(frozen=True, slots=True)
class E5Model:
    """A loaded model.

    Attributes:
        tokenizer, encoder: ready.
        dimension: length of a vector.
        window: tokens the encoder reads at once, special ones included.
        bos, eos: ids put before and after every text.
        fingerprint: 16 hexadecimal digits over weights, tokenizer, prefixes and pooling.
        tokenizer_fingerprint: 16 hexadecimal digits over what counts tokens.
    """

    tokenizer: E5Tokenizer
    encoder: E5Encoder
    dimension: int
    window: int
    bos: int
    eos: int
    fingerprint: str
    tokenizer_fingerprint: str


def load_converted(cache_dir: Path, weights_path: Path | None, *, threads: int, spinning: bool) -> E5Model:
    """The model made from 4-bit weights, converted first where need be. Blocks for one or more seconds.

    Raises:
        Unavailable, Internal: see `converted_model`.
    """
    model = converted_model(cache_dir, weights_path)
    manifest = model.manifest
    return E5Model(
        tokenizer=E5Tokenizer(model.tokenizer),
        encoder=E5Encoder(model.encoder, threads=threads, spinning=spinning, pad=manifest.pad),
        dimension=manifest.dimension,
        window=manifest.window,
        bos=manifest.bos,
        eos=manifest.eos,
        # The weight file holds the vocabulary too. The converted files are left out on purpose: another
        # release of the onnx package writes other bytes for the same model, and an index must not be
        # refused for that.
        fingerprint=digest([manifest.source_sha256, PIPELINE, QUERY_PREFIX, DOCUMENT_PREFIX, POOLING]),
        tokenizer_fingerprint=digest([manifest.source_sha256, PIPELINE]),
    )


def digest(parts: Sequence[str]) -> str:
    """The first 16 hexadecimal digits of SHA-256 over the parts, joined by line ends."""
    return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:16]
