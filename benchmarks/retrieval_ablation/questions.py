"""Questions with their vectors and with the parents that hold each gold quote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.retrieval_ablation.corpus import Corpus
from evaluation.passage_text import comparable
from evaluation.questions import Question, load_questions
from inference_svc.embedders.embedder import Embedder
from inference_svc.embedders.lanes import EncoderLanes
from inference_svc.embedders.onnx_e5.embedder import OnnxE5Embedder
from radref.errors import InvalidInput, PreconditionFailed

Vectors = dict[str, npt.NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of the set that has gold quotes.

    Attributes:
        holders: citation ids of the parents that hold each of its gold quotes, one set a quote; an empty set
            where parsing or splitting broke the quote, which then counts as never found.
    """

    question: Question
    holders: Sequence[frozenset[str]]

    @property
    def text(self) -> str:
        return self.question.query

    def ranks(self, citation_ids: Sequence[str]) -> list[int | None]:
        """Rank, from 1, of the first of these parents that holds each quote; None = none does."""
        return [
            next((rank for rank, one in enumerate(citation_ids, start=1) if one in holders), None)
            for holders in self.holders
        ]


def load_asked(path: Path, corpus: Corpus) -> list[Asked]:
    """The answerable questions with gold quotes, judged as `evaluation.qa_metrics` does.

    Raises:
        InvalidInput: the set cannot be read, or none of its questions has gold quotes.
    """
    passages = [(parent.citation_id, comparable(parent.text)) for parent in corpus.parents]
    asked = [
        Asked(
            question,
            [
                # As `holds_quote`, with each quote brought into the form of comparison once.
                frozenset(citation_id for citation_id, text in passages if quote in text)
                for quote in map(comparable, question.gold_quotes)
            ],
        )
        for question in load_questions(path)
        if question.answerable and question.gold_quotes
    ]
    if not asked:
        raise InvalidInput(f"{path.name}: no answerable question has gold quotes", field="set")
    return asked


async def embed(texts: Iterable[str], *, cache_dir: Path, fingerprint: str) -> Vectors:
    """Question vectors (L2 norm 1) by text, from the embedded default model in this process.

    Args:
        cache_dir: of the embedder's converted weights.
        fingerprint: of the model that made the index.

    Raises:
        PreconditionFailed: the index was built with another model (MODEL_FINGERPRINT_MISMATCH).
    """
    lanes = EncoderLanes(question_tokens=10**6, document_tokens=10**6, observe_wait=lambda _: None)
    embedder: Embedder = OnnxE5Embedder.load(
        cache_dir, None, threads=2, spinning=False, batch_tokens=256, lanes=lanes
    )
    try:
        if embedder.description.fingerprint != fingerprint:
            raise PreconditionFailed(
                "the index was built with another embedding model than the embedded default",
                reason="MODEL_FINGERPRINT_MISMATCH",
            )
        return await _vectors(embedder, list(dict.fromkeys(texts)))
    finally:
        await embedder.close()


async def _vectors(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    # One by one, as questions come: in a batch the last digits differ.
    return {text: (await embedder.embed_queries([text])).vectors[0] for text in texts}


def by_language(asked: Sequence[Asked]) -> Mapping[str, int]:
    """Questions of each language pair, as "ru>en"."""
    groups = [one.question.language_group for one in asked]
    return {name: groups.count(name) for name in sorted(set(groups))}
