"""Ranking figures by ir-measures (Macavaney et al., ECIR 2022), which calls trec_eval's code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ir_measures

from evaluation.bootstrap import Interval, mean

_MEASURES = {
    "ndcg@10": ir_measures.nDCG @ 10,
    "recall@100": ir_measures.R @ 100,
    "mrr@10": ir_measures.RR @ 10,
}


def ranking_figures(
    rankings: Mapping[str, Sequence[str]], qrels: Mapping[str, Mapping[str, int]]
) -> tuple[dict[str, float | None], dict[str, Interval | None]]:
    """ndcg@10, recall@100 and mrr@10, means over queries, with 95 % intervals.

    Args:
        rankings: query id -> document ids, best first, no repeats. An empty ranking counts as 0.
        qrels: query id -> document id -> relevance. Queries that are not in `rankings` are left out.

    Returns:
        (figures, intervals); None where there is no query.
    """
    judged = {query: dict(qrels[query]) for query in rankings}
    # trec_eval sorts by score and ignores the order given.
    run = {
        query: {document: float(len(ranking) - place) for place, document in enumerate(ranking)}
        for query, ranking in rankings.items()
    }
    values: dict[str, dict[str, float]] = {name: dict.fromkeys(rankings, 0.0) for name in _MEASURES}
    names = {str(measure): name for name, measure in _MEASURES.items()}
    if rankings:
        for metric in ir_measures.iter_calc(list(_MEASURES.values()), judged, run):
            values[names[str(metric.measure)]][metric.query_id] = float(metric.value)
    ratios = {name: mean(list(of_query.values())) for name, of_query in values.items()}
    return (
        {name: ratio.value() for name, ratio in ratios.items()},
        {name: ratio.interval() for name, ratio in ratios.items()},
    )
