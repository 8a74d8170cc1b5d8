"""Turns the weight file into a directory with encoder, tokenizer and manifest, and checks the result."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from inference_svc.embedders.onnx_e5.encoder import E5Encoder
from inference_svc.embedders.onnx_e5.graph import build_encoder
from inference_svc.embedders.onnx_e5.manifest import ENCODER, TOKENIZER, Manifest, file_digests
from inference_svc.embedders.onnx_e5.reference import reference_token_vectors
from inference_svc.embedders.onnx_e5.tokenizer import QUERY_PREFIX, E5Tokenizer
from inference_svc.embedders.onnx_e5.tokenizer_json import build_tokenizer
from inference_svc.embedders.onnx_e5.weights import E5Weights
from radref.errors import Internal

# Both languages, a digit, a unit, a literal special token.
_PROBE = "Доза при КТ грудной клетки 7 мЗв; chest radiograph <s>"
# Two float32 implementations of one encoder agree to about 1e-6; a wrong operator is far off.
_MIN_COSINE = 0.99999


def convert(weights_path: Path, source_sha256: str, directory: Path) -> None:
    """Fills `directory`, which exists and is empty. Takes seconds and about 1 GB of memory.

    Raises:
        Unavailable: the weight file cannot be read.
        Internal: it has another format, or the converted model computes something else than the weights say.
        OSError: the directory cannot be written.
    """
    weights = E5Weights(weights_path)
    try:
        model = build_encoder(weights)
    except KeyError as exc:
        raise Internal(f"the embedder's weight file lacks a tensor: {exc}") from exc
    (directory / ENCODER).write_bytes(model.SerializeToString())
    del model
    build_tokenizer(weights).save(str(directory / TOKENIZER), pretty=False)
    _check(weights, directory)
    Manifest(
        source_sha256=source_sha256,
        files=file_digests(directory),
        dimension=weights.shape.hidden,
        window=weights.shape.positions,
        bos=weights.vocabulary.bos,
        eos=weights.vocabulary.eos,
        pad=weights.vocabulary.pad,
    ).write(directory)


def _check(weights: E5Weights, directory: Path) -> None:
    vocabulary = weights.vocabulary
    content = E5Tokenizer(directory / TOKENIZER).ids(QUERY_PREFIX, [_PROBE])[0]
    pieces = "".join(vocabulary.pieces[token] for token in content)
    if pieces != "▁" + (QUERY_PREFIX + _PROBE).replace(" ", "▁") or vocabulary.bos in content:
        raise Internal("the converted tokenizer reads a text differently than it should")
    ids = np.array([vocabulary.bos, *content, vocabulary.eos], np.int64)
    encoder = E5Encoder(directory / ENCODER, threads=1, spinning=False, pad=vocabulary.pad)
    # The longer companion makes the probe a padded row, so the mask is checked too.
    found, _ = encoder.token_vectors([ids, np.concatenate([ids, ids])])
    expected = reference_token_vectors(weights, ids.tolist())
    norms = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    cosine = float(((found * expected).sum(axis=1) / norms).min())
    if not cosine >= _MIN_COSINE:
        raise Internal(
            f"the converted embedder computes other vectors than its weights say (cosine {cosine:.6f}); "
            "this release of onnxruntime or this processor is not supported"
        )
