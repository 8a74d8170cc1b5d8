"""Fits the gate's weighted sum: logistic regression whose weights cannot fall below zero.

A higher cosine, a better BM25 score or a fuller coverage may never speak against an answer, whatever a small
set says; a signal that would, or says nothing, gets the weight 0. Values are scaled by their standard
deviation, and an L2 penalty keeps the weights of a small set small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Strength of the penalty on squared weights per standard deviation, against the mean loss of a question.
# Chosen, not tuned: with about a hundred questions it halves a weight of 1.
PENALTY = 0.05
_STEPS = 4000
_RATE = 0.5

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Weights:
    """score = sum over signals of weight * (value - typical); NaN counts as typical.

    Attributes:
        weight: >= 0, per unit of the signal, shape (signals,).
        typical: mean over the answerable questions, 0 where never given, shape (signals,).
    """

    weight: Floats
    typical: Floats

    def scores(self, values: Floats) -> Floats:
        """Scores, shape (questions,)."""
        return np.nan_to_num(values - self.typical, nan=0.0) @ self.weight


def fit_weights(values: Floats, answerable: npt.NDArray[np.bool_]) -> Weights:
    """Weights that best tell answerable questions from the others; both kinds count alike.

    Args:
        values: shape (questions, signals); NaN = not given.
        answerable: shape (questions,); at least one of each kind.
    """
    given = ~np.isnan(values)
    typical = np.array([_mean(values[answerable & given[:, j], j]) for j in range(values.shape[1])])
    centred = np.nan_to_num(values - typical, nan=0.0)
    scale = centred.std(axis=0)
    used = scale > 1e-12
    x = np.where(used, centred / np.where(used, scale, 1.0), 0.0)
    y = answerable.astype(np.float64)
    balance = np.where(answerable, 0.5 / y.sum(), 0.5 / (1 - y).sum())
    weight, bias = np.zeros(x.shape[1]), 0.0
    for _ in range(_STEPS):
        error = (1 / (1 + np.exp(-(x @ weight + bias))) - y) * balance
        weight = np.maximum(0.0, weight - _RATE * (x.T @ error + 2 * PENALTY * weight))
        bias -= _RATE * float(error.sum())
    return Weights(np.where(used, weight / np.where(used, scale, 1.0), 0.0), typical)


def out_of_fold_scores(values: Floats, answerable: npt.NDArray[np.bool_], *, folds: int, seed: int) -> Floats:
    """Score of every question by weights that were fitted without it.

    Folds are stratified: each holds its share of answerable and other questions.

    Args:
        folds: >= 2, at most the questions of the rarer kind.
        seed: of the assignment.
    """
    fold = np.zeros(len(answerable), dtype=int)
    rng = np.random.default_rng(seed)
    for kind in (True, False):
        members = rng.permutation(np.flatnonzero(answerable == kind))
        fold[members] = np.arange(len(members)) % folds
    scores = np.zeros(len(answerable))
    for number in range(folds):
        held_out = fold == number
        scores[held_out] = fit_weights(values[~held_out], answerable[~held_out]).scores(values[held_out])
    return scores


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else 0.0
