"""From the hits of both legs in every collection to children in one order, and to their parents (Paper A)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from retrieval_svc.duplicates import duplicate_parents, other_documents
from retrieval_svc.model import Child, Hit, Leg, ParentKey
from retrieval_svc.profiles import Fusion, Profile
from retrieval_svc.ranking import FusedChild, RankedParent, Ranking, cut_children, rrf_scores

# Hits of one leg in one collection, by (topic, leg).
LegHits = Mapping[tuple[str, Leg], Sequence[Hit]]

# Identity of a child in the order that breaks ties; hashing it is ten times cheaper than hashing the child.
_Key = tuple[str, int, str]


def rank_by_children(hits: LegHits, profile: Profile, in_force: Callable[[str], bool]) -> Ranking:
    """Fuses, leaves repeated texts out, cuts the funnel, takes the parents.

    Args:
        in_force: whether a document, by its id, is in force; of equal texts such a one stays.
    """
    scored = score_children(hits, fusion=profile.fusion, rrf_k=profile.rrf_k)
    repeated = duplicate_parents((fused.place for fused in scored), in_force)
    fused = cut_children(
        (fused for fused in scored if fused.child.parent not in repeated),
        per_collection=profile.per_collection,
        candidates=profile.candidates,
    )
    return Ranking(
        parents=parents_of(fused, parents=profile.parents, fill=profile.fill_parents),
        candidates=fused,
        duplicates=other_documents(
            repeated, {fused.child.parent: fused.child.document_id for fused in scored}
        ),
    )


def score_children(hits: LegHits, *, fusion: Fusion, rrf_k: int) -> list[FusedChild]:
    """Every child that was found, best first, by RRF over the legs.

    Per collection: RRF over its legs. With `Fusion.RRF` a leg's hits of all collections are merged by their
    absolute scores first, so ranks run over all collections. Equal scores are ordered by citation id and
    ordinal, which favours no collection.

    Args:
        hits: what each leg returned in each collection, in any order.
        fusion: RRF_COLLECTION or RRF.
        rrf_k: RRF's constant, >= 1.
    """
    children: dict[_Key, Child] = {}
    topics: dict[_Key, str] = {}
    absolute: dict[Leg, dict[_Key, float]] = {leg: {} for leg in Leg}
    groups: defaultdict[tuple[str, Leg], list[tuple[float, _Key]]] = defaultdict(list)
    for (topic, leg), found in hits.items():
        group = groups[topic if fusion is Fusion.RRF_COLLECTION else "", leg]
        for hit in found:
            key = _key(hit.child)
            children[key] = hit.child
            topics[key] = topic
            absolute[leg][key] = hit.score
            group.append((-hit.score, key))
    # A child lives in one collection, so one call serves both.
    scores = rrf_scores(([key for _, key in sorted(group)] for group in groups.values()), rrf_k)
    return [
        FusedChild(
            child=children[key],
            topic=topics[key],
            score=-score,
            dense_score=absolute[Leg.DENSE].get(key),
            bm25_score=absolute[Leg.BM25].get(key),
        )
        for score, key in sorted((-score, key) for key, score in scores.items())
    ]


def parents_of(fused: Sequence[FusedChild], *, parents: int, fill: bool) -> list[RankedParent]:
    """The parents of the best children, best first.

    Args:
        fused: children, best first.
        parents: at most this many, >= 1.
        fill: True = go down the list until that many different parents are found; False = look at that
            many children only (Paper A), whose different parents are fewer.
    """
    children: dict[ParentKey, list[FusedChild]] = defaultdict(list)
    for candidate in fused:
        children[candidate.child.parent].append(candidate)
    chosen = dict.fromkeys(candidate.child.parent for candidate in (fused if fill else fused[:parents]))
    return [
        RankedParent(
            key=key,
            document_id=children[key][0].child.document_id,
            score=children[key][0].score,
            dense_score=_best(child.dense_score for child in children[key]),
            bm25_score=_best(child.bm25_score for child in children[key]),
            children=tuple(children[key]),
        )
        for key in list(chosen)[:parents]
    ]


def _best(scores: Iterable[float | None]) -> float | None:
    return max((score for score in scores if score is not None), default=None)


def _key(child: Child) -> _Key:
    return child.parent.citation_id, child.ordinal, child.parent.stage
