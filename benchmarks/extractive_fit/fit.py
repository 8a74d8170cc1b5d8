"""Refits the extractive generator's choice of a passage and its confidence, out of fold.

    python -m benchmarks.extractive_fit.fit --target HOST:PORT --set qa_dev.jsonl

Asks a running system (its gateway, default embedder) for the passages of every question, then scores them in
this process. Prints how often the passage chosen is a right one, by `PassageWeights` fitted without that
question, and what the fitted `Confidence` refuses at each bound. A passage is right when it holds a gold
quote or is of the gold section. Takes minutes: some 30 short texts are embedded for each question.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evaluation.calibration.fit import fit_weights, out_of_fold_scores
from evaluation.passage_text import comparable, holds_quote
from evaluation.questions import Question, load_questions
from evaluation.sections import in_section
from inference_svc.embedders.lanes import EncoderLanes
from inference_svc.embedders.onnx_e5.embedder import OnnxE5Embedder
from inference_svc.generators.extractive.confidence import Evidence
from inference_svc.generators.extractive.lexical import LexicalScorer
from inference_svc.generators.extractive.passages import search_shares
from inference_svc.generators.extractive.places import Embedding
from inference_svc.generators.extractive.scoring import cosines, score_words, with_cosines
from inference_svc.generators.extractive.select import SelectionPolicy, select, to_compare
from inference_svc.generators.extractive.units import ReadPassage, read_passage
from inference_svc.generators.generator import Grounding
from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2
from radref.asked import read_question
from radref.client import RadrefClient

FOLDS = 10
CACHE_DIR = Path("~/.cache/radref/models").expanduser()
SEED = 0
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A question with its passages: features (share, best unit, kind), which are right, the evidence."""

    question: Question
    features: Floats
    right: npt.NDArray[np.bool_]
    evidence: Evidence | None


async def collect(target: str, questions: Sequence[Question], embedder: OnnxE5Embedder) -> list[Case]:
    """Asks for the passages that generation would get, scores them."""

    async def query(text: str) -> npt.NDArray[np.float32]:
        return (await embedder.embed_queries([text])).vectors[0]

    async def texts(pieces: Sequence[str]) -> npt.NDArray[np.float32]:
        return (await embedder.embed_documents(pieces)).vectors

    embedding, policy, cases = Embedding(query, texts), SelectionPolicy(), []
    async with RadrefClient(gateway=target) as client:
        for question in questions:
            found = (await client.prompt(question.query)).ranked_parents
            read = [read_passage(_grounding(parent), index) for index, parent in enumerate(found)]
            asked = read_question(question.query)
            selection = await select(question.query, asked, read, embedding, policy)
            features = await _features(question.query, read, embedding, policy)
            right = np.array([_right(question, parent.passage) for parent in found], dtype=bool)
            cases.append(Case(question, features, right, selection.evidence))
    return cases


async def _features(
    query: str, read: Sequence[ReadPassage], embedding: Embedding, policy: SelectionPolicy
) -> Floats:
    asked, scorer = read_question(query), LexicalScorer(query, read)
    every = score_words(query, asked, read, scorer, policy.units)
    compared = to_compare(every, policy.compared, policy.compared_each)
    values = await cosines(await embedding.query(query), compared, read, embedding)
    features = np.full((len(read), 3), -1.0)
    features[:, 0], features[:, 2] = search_shares(read), 0.0
    for unit in with_cosines(compared, values, policy.units):
        value = policy.units.words * unit.own + policy.units.cosine * unit.cosine
        features[unit.passage, 1] = max(features[unit.passage, 1], value)
    for unit in every:
        features[unit.passage, 2] = max(features[unit.passage, 2], float(bool(unit.kinds)))
    return features


def _grounding(parent: answer_pb2.RankedParent) -> Grounding:
    passage = parent.passage
    return Grounding(
        passage.citation_id,
        passage.metadata.title,
        tuple(passage.section_path),
        passage.text,
        tuple((child.span.start, child.span.end) for child in parent.children),
        parent.rerank_score if parent.HasField("rerank_score") else parent.rrf_score,
    )


def _right(question: Question, passage: documents_pb2.Passage) -> bool:
    text = comparable(passage.text)
    return any(holds_quote(text, quote) for quote in question.gold_quotes) or (
        passage.document_id == question.gold_doc and in_section(passage.section_path, question.gold_section)
    )


def fit_passages(cases: Sequence[Case], penalty: float = 0.02) -> Floats:
    """Conditional logit over the passages of each question, weights >= 0, L2 per standard deviation."""
    usable = [case for case in cases if case.right.any()]
    scale = np.concatenate([case.features - case.features.mean(axis=0) for case in cases]).std(axis=0) + 1e-9
    weight = np.zeros(3)
    for _ in range(500):
        gradient = np.zeros(3)
        for case in usable:
            x = case.features / scale
            chance = np.exp(x @ weight - (x @ weight).max())
            chance /= chance.sum()
            gradient += x.T @ (chance * case.right / (chance @ case.right) - chance)
        weight = np.maximum(0.0, weight + 0.5 * (gradient / len(usable) - 2 * penalty * weight))
    return weight / scale


def report(cases: Sequence[Case]) -> None:
    """Prints both fits."""
    answerable = [case for case in cases if case.question.answerable]
    fold = np.random.default_rng(SEED).permutation(len(answerable)) % FOLDS
    hits = []
    for number in range(FOLDS):
        weight = fit_passages([case for case, f in zip(answerable, fold, strict=True) if f != number])
        held_out = [case for case, f in zip(answerable, fold, strict=True) if f == number]
        hits += [case.right[np.argmax(case.features @ weight)] for case in held_out]
    weight = fit_passages(answerable)
    print(f"right passage: first {np.mean([case.right[0] for case in answerable]):.3f}, ", end="")
    print(f"out of fold {np.mean(hits):.3f}; weights (share, unit, kind) {np.round(weight / weight[1], 2)}")
    judged = [case for case in cases if case.evidence is not None]
    values = np.array([_row(case.evidence) for case in judged if case.evidence is not None])
    kinds = np.array([case.question.answerable for case in judged])
    fitted = fit_weights(values, kinds)
    print("confidence (coverage, cosine, unknown, far, quantity):", fitted.weight.round(2))
    print("typical:", fitted.typical.round(3))
    scores = np.full(len(cases), -np.inf)
    scores[[case.evidence is not None for case in cases]] = out_of_fold_scores(
        values, kinds, folds=FOLDS, seed=SEED
    )
    is_answerable = np.array([case.question.answerable for case in cases])
    for refused in range(2, 10):
        bound = np.sort(scores[is_answerable])[refused]
        recall = (scores[~is_answerable] < bound).mean()
        print(f"refused {refused} of {is_answerable.sum()} answerable: recall of refusals {recall:.3f}")


def _row(evidence: Evidence) -> list[float]:
    coverage = np.nan if evidence.coverage is None else evidence.coverage
    return [
        coverage,
        evidence.cosine,
        -float(evidence.unknown),
        -evidence.far,
        -float(evidence.quantity),
    ]


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--target", required=True, help="host:port of the gateway")
    parser.add_argument("--set", required=True, type=Path, help="question set")
    arguments = parser.parse_args()
    lanes = EncoderLanes(
        question_tokens=8192,
        document_tokens=65_536,
        observe_wait=lambda seconds: None,
        observe_compute=lambda seconds: None,
    )
    embedder = OnnxE5Embedder.load(
        CACHE_DIR,
        None,
        threads=0,
        spinning=False,
        batch_tokens=1024,
        lanes=lanes,
    )
    report(await collect(arguments.target, load_questions(arguments.set), embedder))
    await embedder.close()


if __name__ == "__main__":
    asyncio.run(main())
