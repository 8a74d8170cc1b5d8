"""One size from nothing to figures, each step in a process of its own."""

from __future__ import annotations

import gc
import pickle
import shutil
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.store_scale.build import Built, build
from benchmarks.store_scale.exact import Recall, exact_recall
from benchmarks.store_scale.hybrid import StoreQuestion
from benchmarks.store_scale.measure import Found, Measured, measure
from benchmarks.store_scale.process import alone
from benchmarks.store_scale.seeds import Seeds
from benchmarks.store_scale.synthetic import SyntheticCorpus
from benchmarks.store_scale.zipf import ZipfLaw, fit

# BM25 is searched exactly by the engine: a few questions are enough to show it.
_SPARSE_CHECKED = 20


@dataclass(frozen=True, slots=True)
class Setting:
    """What all sizes have in common.

    Attributes:
        cosine: expected one of a copy with its original.
        questions: measured in each profile, >= 1. warm_up: asked before them.
        real_time: ask at real-time priority.
        seed: of all random numbers.
    """

    seeds: Seeds
    law: ZipfLaw
    cosine: float
    questions: int
    warm_up: int
    real_time: bool
    seed: int

    @classmethod
    def of(cls, seeds: Seeds, *, questions: int, warm_up: int, real_time: bool, seed: int) -> Setting:
        """With the law of terms fitted to the corpus, and copies as near as neighbouring children are."""
        law = fit(seeds.frequencies, seeds.children)
        return cls(seeds, law, seeds.neighbours, questions, warm_up, real_time, seed)

    def corpus(self, children: int) -> SyntheticCorpus:
        """The synthetic corpus of a size."""
        return SyntheticCorpus(self.seeds, self.law, children=children, cosine=self.cosine, seed=self.seed)

    def languages(self) -> dict[str, list[str]]:
        """Primary languages of the documents, by topic."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for document in self.seeds.documents:
            found[document.topic].add(document.language.split("-", 1)[0].lower())
        return {topic: sorted(names) for topic, names in sorted(found.items())}

    def described(self) -> dict[str, Any]:
        """The setting as JSON values, without the corpus."""
        return {
            "seed_children": self.seeds.children,
            "seed_documents": len(self.seeds.documents),
            "seed_questions": len(self.seeds.questions),
            "cosine_of_a_copy": self.cosine,
            "noise_deviation": self.corpus(1).deviation,
            "zipf": {
                "exponent": self.law.exponent,
                "shift": self.law.shift,
                "vocabulary": self.law.vocabulary,
            },
            "questions": self.questions,
            "warm_up": self.warm_up,
            "real_time": self.real_time,
            "seed": self.seed,
        }


@dataclass(frozen=True, slots=True)
class SizeResult:
    """Everything that was measured at one size."""

    built: Built
    measured: Measured
    recall: Recall


def run_size(setting: Path, children: int, work: Path, note: Callable[[str], None]) -> SizeResult:
    """Builds, asks and checks one size; what it wrote is deleted.

    Args:
        setting: a pickled `Setting`.
        work: where the index goes.
        note: told what is done now.

    Raises:
        RadrefError: the store failed.
    """
    root, asked = work / f"index-{children}", work / f"questions-{children}.pickle"
    started = time.perf_counter()

    def step(what: str) -> None:
        note(f"{children:,} children, {time.perf_counter() - started:.0f} s: {what}")

    try:
        step("building")
        built = alone(_build, setting, children, root, asked)
        step("asking")
        measured = alone(_measure, setting, root, asked)
        step("searching exactly")
        recall = alone(_exact, setting, children, asked, measured.found)
        step("done")
    finally:
        shutil.rmtree(root, ignore_errors=True)
        asked.unlink(missing_ok=True)
    return SizeResult(built, measured, recall)


def _build(setting: Path, children: int, root: Path, asked: Path) -> Built:
    chosen = _read(setting)
    corpus = chosen.corpus(children)
    built, frequencies = build(root, corpus, chosen.law.vocabulary, chosen.seeds.dimension)
    questions = [
        StoreQuestion(
            vector=tuple(question.vector.tolist()),
            parent_terms=frequencies.weigh_parents(question.ranks),
            child_terms={
                topic: frequencies.weigh_children(topic, question.ranks) for topic in built.by_topic
            },
        )
        for question in corpus.questions(chosen.warm_up + chosen.questions)
    ]
    asked.write_bytes(pickle.dumps(questions))
    return built


def _measure(setting: Path, root: Path, asked: Path) -> Measured:
    # The corpus is let go of before: its memory is not the store's.
    chosen = _read(setting)
    languages, warm_up, real_time = chosen.languages(), chosen.warm_up, chosen.real_time
    del chosen
    gc.collect()
    questions = pickle.loads(asked.read_bytes())
    return measure(root, questions, languages, warm_up=warm_up, real_time=real_time)


def _exact(setting: Path, children: int, asked: Path, found: tuple[Found, ...]) -> Recall:
    chosen = _read(setting)
    questions = pickle.loads(asked.read_bytes())[chosen.warm_up :]
    return exact_recall(chosen.corpus(children), questions, found, sparse=_SPARSE_CHECKED)


def _read(setting: Path) -> Setting:
    found = pickle.loads(setting.read_bytes())
    assert isinstance(found, Setting)
    return found
