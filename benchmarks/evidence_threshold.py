"""Fits the cosine that a piece of text must reach to count as an answer (inference_svc/generators/fitted.py).

    python -m benchmarks.evidence_threshold --data-dir DIR --set FILE [--false-abstention 0.09] [--folds 7]

Asks an indexed system (`radref eval qa --data-dir DIR` makes one) for the passages of every question and
compares pieces as the extractive generator does. Prints how well two cosines tell answerable questions from
the others, the threshold at the wanted share of false abstentions, and what it does out of fold. The embedder
is that of the inference settings, in this process.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.questions import Question, load_questions
from evaluation.stack import ephemeral_stack
from inference_svc.embedders.embedder import Embedder
from inference_svc.generators.extractive.places import Embedding
from inference_svc.generators.extractive.select import Scored, SelectionPolicy, compared
from inference_svc.generators.extractive.units import read_passage
from inference_svc.generators.generator import Grounding
from inference_svc.server import _embedder
from inference_svc.settings import InferenceSettings
from radref.api.gateway.v1 import gateway_pb2
from radref.asked import read_question
from radref.client import RadrefClient

Floats = NDArray[np.float64]
# Passages that go to the generator (gateway.generation_parents).
PASSAGES = 5
NOTHING = -1.0
SEEDS = 20


def groundings(response: gateway_pb2.SearchResponse) -> list[Grounding]:
    return [
        Grounding(
            parent.passage.citation_id,
            parent.passage.metadata.title,
            tuple(parent.passage.section_path),
            parent.passage.text,
            tuple((child.span.start, child.span.end) for child in parent.children),
        )
        for parent in response.ranked_parents[:PASSAGES]
    ]


async def signals(
    question: Question, passages: Sequence[Grounding], embedding: Embedding
) -> dict[str, float]:
    """Best cosine of all compared pieces, and of those that hold what is asked."""
    asked = read_question(question.query)
    read = [read_passage(passage, index) for index, passage in enumerate(passages)]
    _, units = await compared(question.query, asked, read, embedding, SelectionPolicy())

    def best(of: Sequence[Scored]) -> float:
        return max((unit.cosine for unit in of), default=NOTHING)

    able = [unit for unit in units if unit.kinds or not asked.kinds]
    return {"any piece": best(units), "a piece that holds what is asked": best(able)}


def area(answerable: Floats, others: Floats) -> float:
    """Area under the ROC curve."""
    wins = (answerable[:, None] > others).mean() + 0.5 * (answerable[:, None] == others).mean()
    return float(wins)


def threshold(answerable: Floats, share: float) -> float:
    """The value below which that share of the answerable questions lies."""
    return float(np.quantile(answerable, share))


def out_of_fold(answerable: Floats, others: Floats, share: float, folds: int) -> tuple[float, float]:
    """(false abstention, abstention recall) with the threshold of the other folds; mean over splits."""
    found = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        good = rng.permutation(len(answerable)) % folds
        bad = rng.permutation(len(others)) % folds
        refused = [
            ((answerable[good == fold] < limit).sum(), (others[bad == fold] < limit).sum())
            for fold in range(folds)
            for limit in [threshold(answerable[good != fold], share)]
        ]
        false, right = np.sum(refused, axis=0)
        found.append((false / len(answerable), right / len(others)))
    false_mean, recall_mean = np.mean(found, axis=0)
    return float(false_mean), float(recall_mean)


def _embedding(embedder: Embedder) -> Embedding:
    async def query(text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = (await embedder.embed_queries([text])).vectors[0]
        return vector

    async def texts(pieces: Sequence[str]) -> NDArray[np.float32]:
        return (await embedder.embed_documents(pieces, urgent=True)).vectors

    return Embedding(query, texts)


async def measure(data_dir: Path, question_set: Path, share: float, folds: int) -> None:
    questions = load_questions(question_set)
    embedder = await asyncio.to_thread(_embedder, InferenceSettings().embedder)
    rows: list[dict[str, float]] = []
    try:
        async with (
            ephemeral_stack(data_dir) as addresses,
            RadrefClient(gateway=addresses.gateway, ingest=addresses.ingest) as client,
        ):
            for question in questions:
                passages = groundings(await client.search(question.query, timeout=60))
                rows.append(await signals(question, passages, _embedding(embedder)))
    finally:
        await embedder.close()
    is_answerable = np.array([question.answerable for question in questions])
    print(
        f"{is_answerable.sum()} answerable questions, {(~is_answerable).sum()} others; embedder "
        f"{embedder.description.fingerprint}"
    )
    for name in rows[0]:
        values = np.array([row[name] for row in rows])
        good, bad = values[is_answerable], values[~is_answerable]
        limit = threshold(good, share)
        false, recall = out_of_fold(good, bad, share, folds)
        print(
            f"cosine of {name}: AUC {area(good, bad):.3f}; below {limit:.4f} lie "
            f"{(good < limit).mean():.3f} of the answerable and {(bad < limit).mean():.3f} of the others; "
            f"out of fold {false:.3f} and {recall:.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="fit the extractive generator's cosine")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--set", type=Path, required=True, dest="question_set")
    parser.add_argument("--false-abstention", type=float, default=0.09)
    parser.add_argument("--folds", type=int, default=7)
    arguments = parser.parse_args()
    asyncio.run(
        measure(arguments.data_dir, arguments.question_set, arguments.false_abstention, arguments.folds)
    )


if __name__ == "__main__":
    main()
