"""Similarity of questions and parents by the token vectors of multilingual-e5-small.

    python -m benchmarks.light_reranker.semantic --in dev.jsonl --out dev.semantic.json [--parents 13]

Encoding costs about 0.4 ms a token, and 13 parents are some 20,000 tokens: not at question time. So every
parent is cut into segments of whole sentences, and only the most promising ones are encoded: those that
cover most of the question's words, of equal ones those in the child that the search found. With three of 80
tokens that is still over a second a question: what the vectors are worth, not what can be afforded.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.light_reranker.records import Found, FoundParent, read_records
from evaluation.progress import progress_on
from inference_svc.embedders.onnx_e5.cache import converted_model
from inference_svc.embedders.onnx_e5.encoder import E5Encoder, unit
from inference_svc.embedders.onnx_e5.tokenizer import DOCUMENT_PREFIX, QUERY_PREFIX, E5Tokenizer
from inference_svc.generators.extractive.lexical import Stems
from inference_svc.generators.extractive.sentences import split_sentences

FEATURES = ("sentence_cosine", "maxsim_segment", "maxsim_parent", "maxsim_idf_segment", "maxsim_idf_parent")
# Segments of like length that are encoded together.
BATCH = 12
CACHE_DIR = Path("~/.cache/radref/models").expanduser()


class TokenVectors:
    """Encodes questions and parents. `rarity` of a token is -log p of its piece in the Unigram model."""

    def __init__(self) -> None:
        model = converted_model(CACHE_DIR)
        self._tokenizer = E5Tokenizer(model.tokenizer)
        self._encoder = E5Encoder(model.encoder, threads=1, spinning=False, pad=model.manifest.pad)
        self._ends = (np.array([model.manifest.bos]), np.array([model.manifest.eos]))
        pieces = json.loads(model.tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
        self._rarity = np.array([max(0.0, -score) for _, score in pieces], np.float32)

    def question(self, text: str) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Unit vector (d,), unit token vectors (t, d) without prefix and special tokens, rarity (t,)."""
        (ids,) = self._tokenizer.ids(QUERY_PREFIX, [text])
        (vectors,) = self._encoder.token_vectors([np.concatenate([self._ends[0], ids, self._ends[1]])])
        own = self._tokenizer.prefix_tokens[QUERY_PREFIX]
        return (
            unit(vectors.mean(axis=0, keepdims=True))[0],
            unit(vectors[1 + own : -1]),
            self._rarity[ids[own:]],
        )

    def segments(self, segments: Sequence[str]) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
        """Unit vectors (s, d) of texts, and the unit token vectors of each, (t, d)."""
        own = self._tokenizer.prefix_tokens[DOCUMENT_PREFIX]
        encoded = self._tokenizer.ids(DOCUMENT_PREFIX, segments)
        sequences = [np.concatenate([self._ends[0], ids, self._ends[1]]) for ids in encoded]
        pooled: dict[int, NDArray[np.float32]] = {}
        tokens: dict[int, NDArray[np.float32]] = {}
        by_length = sorted(range(len(sequences)), key=lambda at: len(sequences[at]))
        for first in range(0, len(by_length), BATCH):
            batch = by_length[first : first + BATCH]
            members = [sequences[index] for index in batch]
            for index, vectors in zip(batch, self._encoder.token_vectors(members), strict=True):
                pooled[index] = vectors.mean(axis=0)
                tokens[index] = unit(vectors[1 + own : -1])
        places = range(len(sequences))
        return unit(np.stack([pooled[at] for at in places])), [tokens[at] for at in places]

    def cut(self, text: str, most: int) -> list[tuple[int, int]]:
        """Spans of sentences packed up to `most` tokens each; a longer sentence is cut."""
        packed: list[tuple[int, int]] = []
        size = most
        for start, end in split_sentences(text, 0, len(text)):
            _, offsets = self._tokenizer.ids_with_offsets(text[start:end])
            for first in range(0, len(offsets), most):
                piece = offsets[first : first + most]
                size += len(piece)
                if size > most:
                    packed.append((start + int(piece[0, 0]), start + int(piece[-1, 1])))
                    size = len(piece)
                else:
                    packed[-1] = (packed[-1][0], start + int(piece[-1, 1]))
        return packed


def promising(query: str, parent: FoundParent, spans: Sequence[tuple[int, int]], count: int) -> list[str]:
    """The texts of `count` segments: most words of the question first, then those in the best child."""
    stems = Stems()
    asked = set(stems.of(query))
    best = parent.children[0] if parent.children else None

    def worth(span: tuple[int, int]) -> tuple[int, bool]:
        inside = best is not None and span[0] < best.end and best.start < span[1]
        return len(asked & set(stems.of(parent.text[slice(*span)]))), inside

    return [parent.text[slice(*span)] for span in sorted(spans, key=worth, reverse=True)[:count]]


def similarities(
    question: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]],
    parent: tuple[NDArray[np.float32], list[NDArray[np.float32]]],
) -> list[float]:
    """FEATURES of one pair: best cosine of a segment; MaxSim (Khattab and Zaharia, ColBERT, SIGIR 2020) as a
    mean over the question's tokens, of the best segment and of the whole parent, plain and weighted with the
    tokens' rarity."""
    vector, tokens, rarity = question
    pooled, segments = parent
    best = np.stack([(tokens @ segment.T).max(axis=1) for segment in segments])  # (segments, question tokens)
    weights = rarity / rarity.sum()
    whole = best.max(axis=0)
    return [
        float((pooled @ vector).max()),
        float(best.mean(axis=1).max()),
        float(whole.mean()),
        float((best @ weights).max()),
        float(whole @ weights),
    ]


def semantic_features(
    records: Sequence[Found], *, parents: int, segments: int, segment_tokens: int, console: Console
) -> dict[str, list[list[float]]]:
    """Question id -> FEATURES of each of its first `parents` parents."""
    vectors = TokenVectors()
    cuts: dict[str, list[tuple[int, int]]] = {}
    features = {}
    with progress_on(console) as progress:
        for record in progress.track(records, description="Encoding"):
            question = vectors.question(record.query)
            found = record.parents[:parents]
            for parent in found:
                if parent.text not in cuts:
                    cuts[parent.text] = vectors.cut(parent.text, segment_tokens)
            chosen = [promising(record.query, parent, cuts[parent.text], segments) for parent in found]
            pooled, tokens = vectors.segments([segment for of_parent in chosen for segment in of_parent])
            bounds = np.cumsum([0, *map(len, chosen)]).tolist()
            features[record.id] = [
                similarities(question, (pooled[first:last], tokens[first:last]))
                for first, last in itertools.pairwise(bounds)
            ]
    return features


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--in", dest="records", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parents", type=int, default=13)
    parser.add_argument("--segments", type=int, default=3, help="segments of a parent that are encoded")
    parser.add_argument("--segment-tokens", type=int, default=80, help="most tokens of a segment")
    options = parser.parse_args()
    features = semantic_features(
        read_records(options.records),
        parents=options.parents,
        segments=options.segments,
        segment_tokens=options.segment_tokens,
        console=Console(stderr=True),
    )
    options.out.write_text(json.dumps(features), encoding="utf-8")


if __name__ == "__main__":
    main()
