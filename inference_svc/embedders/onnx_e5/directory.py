"""Loads a published ONNX export of an e5 model from a directory, laid out as on its model hub.

    tokenizer.json  config.json  [tokenizer_config.json]  onnx/model.onnx (or model.onnx)

The small files may also lie beside the model. Everything is tried out before anyone is served.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from inference_svc.embedders.onnx_e5.directory_files import find, read_object, weight_files
from inference_svc.embedders.onnx_e5.directory_tokenizer import (
    BOS,
    EOS,
    PAD,
    PIPELINE,
    load_plain_tokenizer,
)
from inference_svc.embedders.onnx_e5.encoder import E5Encoder, finite
from inference_svc.embedders.onnx_e5.model import POOLING, E5Model, digest
from inference_svc.embedders.onnx_e5.spans import late_chunk_stride
from inference_svc.embedders.onnx_e5.tokenizer import DOCUMENT_PREFIX, QUERY_PREFIX, E5Tokenizer
from inference_svc.embedders.onnx_e5.weights import file_sha256
from radref.errors import Internal, Unavailable

# Of models whose configuration does not say: e5 was trained on so many tokens (arXiv:2402.05672).
DEFAULT_WINDOW = 512
# In these, positions count from the id of the padding plus one (fairseq's RoBERTa): two are never used.
_OFFSET_POSITIONS = frozenset({"roberta", "xlm-roberta", "xlm-roberta-xl", "camembert"})
_RESERVED_POSITIONS = 2
_PROBE = "Доза при КТ грудной клетки 7 мЗв; chest radiograph"
# A row must not depend on its padding. Published int8 exports scale by the whole batch and move by about
# 0.01 (DEPENDENCIES.md); a mask that is not looked at moves a row much further.
_MIN_COSINE = 0.97


def load_directory(directory: Path, *, threads: int, spinning: bool) -> E5Model:
    """The model in a directory, tried out on one full window. Blocks for seconds.

    Raises:
        Unavailable: the directory or a file is missing or unreadable.
        Internal: a file is damaged, or the files do not make an e5 model together; says what is wrong.
    """
    if not directory.is_dir():
        raise Unavailable(f"the embedder's model directory does not exist: {directory}")
    model_file = find(directory, "onnx/model.onnx", "model.onnx")
    tokenizer_file = _small_file(directory, model_file, "tokenizer.json")
    config = read_object(_small_file(directory, model_file, "config.json"))

    plain, specials = load_plain_tokenizer(tokenizer_file)
    tokenizer = E5Tokenizer(plain)
    _check_prefixes(tokenizer, tokenizer_file)
    window = _window(config, tokenizer_file.with_name("tokenizer_config.json"))
    overhead = max(tokenizer.prefix_tokens.values()) + 2
    if window < 4 * overhead:
        raise Internal(
            f"the embedder's window of {window} tokens is too short: prefix and special ones take {overhead}"
        )
    weights = weight_files(model_file)
    encoder = E5Encoder(model_file, threads=threads, spinning=spinning, pad=_pad(config, specials))
    (probe,) = tokenizer.ids(QUERY_PREFIX, [_PROBE])
    short = np.array([specials[BOS], *probe[: window - 2], specials[EOS]], np.int64)
    # The highest id finds a word table that is shorter than the vocabulary.
    full = np.full(window, plain.get_vocab_size() - 1, np.int64)
    tokenizer_digest = file_sha256(tokenizer_file)
    return E5Model(
        tokenizer=tokenizer,
        encoder=encoder,
        dimension=_tried_out(encoder, short, full, config, model_file),
        window=window,
        bos=specials[BOS],
        eos=specials[EOS],
        fingerprint=digest(
            [
                *map(file_sha256, weights),
                tokenizer_digest,
                *(PIPELINE, QUERY_PREFIX, DOCUMENT_PREFIX, POOLING),
                *(str(window), str(late_chunk_stride(window))),
            ]
        ),
        tokenizer_fingerprint=digest([tokenizer_digest, PIPELINE]),
    )


def _small_file(directory: Path, model: Path, name: str) -> Path:
    return find(directory, name, str((model.parent / name).relative_to(directory)))


def _window(config: Mapping[str, Any], tokenizer_config: Path) -> int:
    positions = config.get("max_position_embeddings")
    if positions is None:
        window = DEFAULT_WINDOW
    elif not isinstance(positions, int) or isinstance(positions, bool) or positions < 1:
        raise Internal("max_position_embeddings in the embedder's config.json is no positive whole number")
    else:
        offset = config.get("model_type") in _OFFSET_POSITIONS
        window = positions - _RESERVED_POSITIONS if offset else positions
    if tokenizer_config.is_file():
        limit = read_object(tokenizer_config).get("model_max_length")
        # Where there is no limit, libraries write 1e30.
        if isinstance(limit, int | float) and not isinstance(limit, bool) and 1 <= limit < window:
            return int(limit)
    return window


def _pad(config: Mapping[str, Any], specials: Mapping[str, int]) -> int:
    pad = specials.get(PAD, config.get("pad_token_id"))
    if not isinstance(pad, int):
        raise Internal(f"neither the embedder's tokenizer.json has {PAD} nor its config.json a pad_token_id")
    # Elsewhere the mask alone decides; some published configurations name a padding they do not use.
    if config.get("model_type") in _OFFSET_POSITIONS and config.get("pad_token_id", pad) != pad:
        raise Internal("the embedder's tokenizer.json and config.json disagree on the padding token")
    return pad


def _check_prefixes(tokenizer: E5Tokenizer, path: Path) -> None:
    for prefix in (QUERY_PREFIX, DOCUMENT_PREFIX):
        (alone,), (before,) = tokenizer.ids(prefix.rstrip(), [""]), tokenizer.ids(prefix, [_PROBE])
        if not len(alone) or before[: len(alone)].tolist() != alone.tolist():
            raise Internal(
                f"the embedder's tokenizer {path} does not split words, so prefixes cannot be told apart"
            )


def _tried_out(
    encoder: E5Encoder,
    short: np.ndarray[tuple[int], np.dtype[np.int64]],
    full: np.ndarray[tuple[int], np.dtype[np.int64]],
    config: Mapping[str, Any],
    path: Path,
) -> int:
    """Length of the vectors, after real passes with and without padding, up to a full window."""
    try:
        (alone,) = encoder.token_vectors([short])
        padded, _ = encoder.token_vectors([short, full])
    except Exception as exc:  # onnxruntime's exceptions have no common base
        raise Internal(
            f"the embedder {path} fails on a window of {len(full)} tokens ({type(exc).__name__}): "
            "its positions or its vocabulary are fewer than config.json and tokenizer.json say"
        ) from exc
    dimension = alone.shape[-1]
    if alone.shape != padded.shape or dimension != config.get("hidden_size", dimension):
        raise Internal(
            f"the embedder {path} yields vectors of shape {alone.shape}, config.json promises "
            f"{len(short)} x {config.get('hidden_size', dimension)}"
        )
    pooled = [finite(vectors).mean(axis=0, dtype=np.float64) for vectors in (alone, padded)]
    product = float(np.linalg.norm(pooled[0]) * np.linalg.norm(pooled[1]))
    if not float(pooled[0] @ pooled[1]) >= _MIN_COSINE * product or product == 0:
        raise Internal(f"the embedder {path} does not leave out what its attention mask leaves out")
    return int(dimension)
