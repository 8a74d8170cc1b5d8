"""Builds the `tokenizer.json` of multilingual-e5-small from the weight file's vocabulary.

The pipeline is XLM-RoBERTa's (Conneau et al. 2020; SentencePiece Unigram with nmt_nfkc): code points are
mapped, runs of spaces become one, a space becomes U+2581 and starts a word, Unigram picks the pieces. The
weight file's map knows single code points only, so NFC comes first: it composes decomposed letters
(и + U+0306 = й), as SentencePiece's own rules for sequences do.
"""

from __future__ import annotations

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from inference_svc.embedders.onnx_e5.charsmap import pack_charsmap
from inference_svc.embedders.onnx_e5.weights import E5Weights

PIPELINE = "nfc,precompiled,collapse-spaces,metaspace-always,unigram,specials-unmatchable/1"


def build_tokenizer(weights: E5Weights) -> Tokenizer:
    """A tokenizer without special tokens: `<s>`, the prefix and `</s>` are added by the caller.

    The special pieces (`<s>`, `</s>`, `<mask>`...) have the best score of all, so Unigram would pick them
    wherever a document writes them literally. Their names get a leading space here, which no normalised
    text holds, so that `<s>` in a text is read as the characters it is.
    """
    vocabulary = weights.vocabulary
    pieces = [
        (f" {piece}" if piece.startswith("<") and piece.endswith(">") and score == 0.0 else piece, score)
        for piece, score in zip(vocabulary.pieces, vocabulary.scores, strict=True)
    ]
    tokenizer = Tokenizer(models.Unigram(pieces, vocabulary.unk, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFC(),
            normalizers.Precompiled(pack_charsmap(weights.normalization)),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True)
    return tokenizer
