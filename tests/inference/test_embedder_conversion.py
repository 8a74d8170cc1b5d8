"""Weight file -> encoder and tokenizer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.normalizers import Precompiled

from inference_svc.embedders.onnx_e5.charsmap import pack_charsmap
from inference_svc.embedders.onnx_e5.encoder import E5Encoder
from inference_svc.embedders.onnx_e5.reference import reference_token_vectors
from inference_svc.embedders.onnx_e5.weights import E5Weights
from radref.errors import Internal, Unavailable
from tests.inference.tiny_weights import HIDDEN, NORMALIZATION, PIECES

single = st.characters(min_codepoint=1, exclude_categories=["Cs"])


def test_header_vocabulary_and_map_are_read(tiny_weights: Path) -> None:
    weights = E5Weights(tiny_weights)
    assert weights.vocabulary.pieces == PIECES
    assert weights.normalization == NORMALIZATION
    assert weights.shape.hidden == HIDDEN
    assert weights.shape.epsilon == pytest.approx(1e-12)


def test_four_bit_blocks_are_read_as_the_c_source_reads_them(tiny_weights: Path) -> None:
    raw = tiny_weights.read_bytes()
    weights = E5Weights(tiny_weights)
    offset = weights._directory["emb.word"].offset
    values = weights.quantized("emb.word", HIDDEN).dequantized()
    for row, column in ((0, 0), (0, 15), (0, 16), (0, 31), (0, 32), (3, 50), (len(PIECES) - 1, 63)):
        block = offset + (row * HIDDEN + column) // 32 * 18
        scale = np.frombuffer(raw[block : block + 2], "<f2")[0].astype(np.float32)
        byte = raw[block + 2 + column % 16]
        nibble = byte & 15 if column % 32 < 16 else byte >> 4
        assert values[row, column] == np.float32(nibble - 8) * scale


@pytest.mark.parametrize("damage", [b"", b"E5S", b"no weights at all" * 10])
def test_another_file_is_refused(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(damage)
    with pytest.raises((Internal, Unavailable), match="weight"):
        E5Weights(path)


@pytest.mark.parametrize("share", [0.001, 0.2, 0.5, 0.99])
def test_a_cut_file_is_refused(tiny_weights: Path, tmp_path: Path, share: float) -> None:
    data = tiny_weights.read_bytes()
    path = tmp_path / "weights.bin"
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(Internal, match="damaged or of another format"):
        E5Weights(path)


def test_a_missing_file_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be read"):
        E5Weights(tmp_path / "none.bin")


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(single, st.text(single, max_size=4), max_size=40), st.text(single, max_size=40))
def test_the_packed_map_replaces_what_it_maps_and_nothing_else(rules: dict[str, str], text: str) -> None:
    normalizer = Precompiled(pack_charsmap({ord(key): value for key, value in rules.items()}))
    for character in (*rules, *text):
        # One character at a time: the library looks at whole grapheme clusters first.
        assert normalizer.normalize_str(character) == rules.get(character, character)


def test_every_rule_of_the_real_map_survives_packing(real_weights: E5Weights) -> None:
    normalizer = Precompiled(pack_charsmap(real_weights.normalization))
    for code_point, replacement in real_weights.normalization.items():
        assert normalizer.normalize_str(chr(code_point)) == replacement


def test_a_nul_cannot_be_mapped() -> None:
    with pytest.raises(ValueError, match="NUL"):
        pack_charsmap({0: "a"})
    with pytest.raises(ValueError, match="NUL"):
        pack_charsmap({65: "\0"})


def test_the_real_encoder_agrees_with_plain_numpy(real_encoder: E5Encoder, real_weights: E5Weights) -> None:

    ids = np.array([0, 41, 1294, 12, 50000, 249_999, 3, 250_001, 2], np.int64)
    (found,) = real_encoder.token_vectors([ids])
    assert np.abs(found - reference_token_vectors(real_weights, ids.tolist())).max() < 1e-3
