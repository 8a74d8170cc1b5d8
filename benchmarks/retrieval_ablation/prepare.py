"""A question set made ready to be asked: index read, evidence found, questions embedded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from benchmarks.retrieval_ablation.analyses import indexed_text
from benchmarks.retrieval_ablation.corpus import Corpus, read_corpus
from benchmarks.retrieval_ablation.full_scores import FullScores
from benchmarks.retrieval_ablation.questions import Asked, Vectors, embed, load_asked
from benchmarks.retrieval_ablation.typos import Speller, with_typo
from retrieval_svc.settings import RetrievalSettings


@dataclass(frozen=True)
class Prepared:
    """A set and its corpus.

    Attributes:
        asked: the questions as they are. typed: the same with one typing error each.
        vectors: of the questions in all their wordings.
    """

    corpus: Corpus
    asked: Sequence[Asked]
    typed: Sequence[Asked]
    scores: FullScores
    speller: Speller
    vectors: Vectors

    @cached_property
    def asked_corrected(self) -> Sequence[Asked]:
        """The questions as they are, after the speller."""
        return [_reworded(one, self.speller.correct(one.text)) for one in self.asked]

    @cached_property
    def typed_corrected(self) -> Sequence[Asked]:
        """The mistyped questions after the speller."""
        return [_reworded(one, self.speller.correct(one.text)) for one in self.typed]


async def prepare(
    data_dir: Path, questions: Path, *, cache_dir: Path, work: Path, typo_seed: int
) -> Prepared:
    """Reads a copy of the index and embeds the questions.

    Raises:
        InvalidInput: the index is missing or empty, or the set cannot be read or has no gold quotes.
        PreconditionFailed: the index has another format or model (INVALID_STATE, MODEL_FINGERPRINT_MISMATCH).
    """
    corpus = await read_corpus(data_dir, work=work)
    asked = load_asked(questions, corpus)
    typed = [_reworded(one, with_typo(one.text, number, seed=typo_seed)) for number, one in enumerate(asked)]
    text = indexed_text("default")
    scores = FullScores(corpus, text, RetrievalSettings().collections)
    speller = Speller(scores.parent_texts, text, scores.knows)
    wordings = [one.text for one in (*asked, *typed)]
    wordings += [speller.correct(wording) for wording in wordings]
    vectors = await embed(wordings, cache_dir=cache_dir, fingerprint=corpus.fingerprint)
    return Prepared(corpus, asked, typed, scores, speller, vectors)


def _reworded(asked: Asked, text: str) -> Asked:
    return replace(asked, question=replace(asked.question, query=text))
