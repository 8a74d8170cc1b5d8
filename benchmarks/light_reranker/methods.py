"""The ways of reranking that are compared. Pure: features in, orders out.

A table is the features of one question, shape (parents, features), parents in the fused order, higher =
better. An order lists the parents' places in the table, best first. Equal scores keep the fused order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
Order = list[int]

# Cormack, Clarke and Buettcher, SIGIR 2009; as in retrieval.
RRF_K = 60
# Weights of the tuned fusion: none, a quarter, half, equal, double.
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0)
# Strength of the L2 penalty of the learned model. A choice among these is made inside the training folds.
PENALTIES = (0.01, 0.1, 1.0)
_STEPS = 200
_STEP = 0.3
_TINY = 1e-300


def by_score(scores: NDArray[np.float64]) -> Order:
    """Best first."""
    order: Order = np.argsort(-scores, kind="stable").tolist()
    return order


def ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank of each place, from 1; equal scores share the mean of their ranks."""
    better = (scores[None, :] > scores[:, None]).sum(axis=1)
    equal = (scores[None, :] == scores[:, None]).sum(axis=1)
    shared: NDArray[np.float64] = better + (equal + 1) / 2
    return shared


def fused(table: Table, weights: Sequence[float], k: int = RRF_K) -> Order:
    """Weighted reciprocal rank fusion of the fused order (weight 1) with columns of the table."""
    scores = 1.0 / (k + np.arange(1, len(table) + 1))
    for column, weight in enumerate(weights):
        if weight:
            scores = scores + weight / (k + ranks(table[:, column]))
    return by_score(scores)


def standardised(table: Table) -> Table:
    """Each column with mean 0 and deviation 1 within the question; a constant column becomes 0."""
    spread = table.std(axis=0)
    scaled: Table = (table - table.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0) * (spread > 1e-9)
    return scaled


def learned_table(table: Table) -> Table:
    """Input of the learned model: the fused order as 1 / rank and -log rank, and the standardised columns."""
    rank = np.arange(1, len(table) + 1, dtype=np.float64)
    return np.column_stack([standardised(np.column_stack([1 / rank, -np.log(rank)])), standardised(table)])


def fit_listwise(tables: Sequence[Table], relevant: Sequence[NDArray[np.bool_]], penalty: float) -> Table:
    """Weights of a linear model whose softmax over the parents gives the relevant ones the most mass.

    The listwise loss of Cao et al., ICML 2007 (top-one, with several relevant parents summed up), plus
    penalty * |w|^2; convex enough that plain gradient steps from 0 are reproducible. Questions without a
    relevant parent, or with nothing else, teach nothing.
    """
    pairs = [(t, r) for t, r in zip(tables, relevant, strict=True) if r.any() and not r.all()]
    places = max(len(table) for table, _ in pairs)
    features = np.zeros((len(pairs), places, tables[0].shape[1]))
    held = np.zeros((len(pairs), places), dtype=np.bool_)
    there = np.zeros((len(pairs), places), dtype=np.bool_)
    for at, (table, marks) in enumerate(pairs):
        features[at, : len(table)] = table
        held[at, : len(table)] = marks
        there[at, : len(table)] = True
    weights = np.zeros(features.shape[2])
    for _ in range(_STEPS):
        scores = np.where(there, features @ weights, -np.inf)
        mass = np.exp(scores - scores.max(axis=1, keepdims=True))
        mass /= mass.sum(axis=1, keepdims=True)
        inside = np.where(held, mass, 0.0)
        inside /= np.maximum(inside.sum(axis=1, keepdims=True), _TINY)
        gradient = np.tensordot(inside - mass, features, axes=2) / len(pairs)
        weights += _STEP * (gradient - 2 * penalty * weights)
    return weights


def out_of_fold(folds: Sequence[str], fit: Callable[[list[int]], Callable[[int], Order]]) -> list[Order]:
    """One order a question, made by what was fitted to the questions of all other folds."""
    orders: list[Order] = [[] for _ in folds]
    for fold in sorted(set(folds)):
        apply = fit([number for number, name in enumerate(folds) if name != fold])
        for number, name in enumerate(folds):
            if name == fold:
                orders[number] = apply(number)
    return orders


def tuned_fusion(
    tables: Sequence[Table], gain: Callable[[int, Order], float], training: Sequence[int]
) -> tuple[float, ...]:
    """The weights among WEIGHTS with the greatest total gain on the training questions; of equal ones the
    smallest, so that reranking does no more than it must."""
    grid = sorted(
        itertools.product(WEIGHTS, repeat=tables[0].shape[1]), key=lambda weights: (sum(weights), weights)
    )
    return max(grid, key=lambda weights: sum(gain(at, fused(tables[at], weights)) for at in training))
