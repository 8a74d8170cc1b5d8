"""Parents ranked by themselves: by the cosine of their best child, their BM25 score and their document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from retrieval_svc.duplicates import duplicate_parents, other_documents
from retrieval_svc.model import Hit, ParentHit, ParentKey, ParentPlace
from retrieval_svc.profiles import Fusion, Profile
from retrieval_svc.ranking import (
    FusedChild,
    RankedParent,
    Ranking,
    WeightedLeg,
    convex_scores,
    cut_children,
    rrf_scores,
)

# A document speaks for its parents by the mean of this many best ones; 1 to 5 measure alike.
_SUPPORTING_PARENTS = 3


@dataclass(slots=True)
class Evidence:
    """What speaks for one parent.

    Attributes:
        dense: best cosine of its children after `centre` was subtracted; None = not searched or not found.
        bm25: of its text, or the best of its children; None = the same.
        cosines: cosine of each of its children that was found, by ordinal.
    """

    place: ParentPlace
    dense: float | None = None
    bm25: float | None = None
    cosines: dict[int, Hit] = field(default_factory=dict)
    bm25_children: dict[int, Hit] = field(default_factory=dict)


class ParentPool:
    """Gathers evidence of parents.

    Args:
        centre: what is subtracted from the cosines of a staging's children, see
            `retrieval_svc.language_means`.
    """

    def __init__(self, centre: Callable[[str], float]) -> None:
        self._centre = centre
        self._evidence: dict[ParentKey, Evidence] = {}

    def __len__(self) -> int:
        return len(self._evidence)

    def add_dense(self, hits: Mapping[str, Sequence[Hit]]) -> None:
        """Children by cosine, by topic."""
        for topic, found in hits.items():
            for hit in found:
                evidence = self._of_child(topic, hit)
                evidence.cosines[hit.child.ordinal] = hit
                centred = hit.score - self._centre(hit.child.parent.stage)
                if evidence.dense is None or centred > evidence.dense:
                    evidence.dense = centred

    def add_bm25(self, hits: Iterable[ParentHit]) -> None:
        """Parents by BM25."""
        for hit in hits:
            self._evidence.setdefault(hit.place.key, Evidence(hit.place)).bm25 = hit.score

    def add_bm25_children(self, hits: Mapping[str, Sequence[Hit]]) -> None:
        """Children by BM25, by topic; a parent counts as its best child."""
        for topic, found in hits.items():
            for hit in found:
                evidence = self._of_child(topic, hit)
                evidence.bm25_children[hit.child.ordinal] = hit
                evidence.bm25 = max(evidence.bm25 or 0.0, hit.score)

    def keep_best(self, depth: int) -> None:
        """Keeps the parents of the best `depth` different texts of each leg."""
        kept: set[ParentKey] = set()
        for scores in (self._dense(), self._bm25()):
            texts: set[str] = set()
            for key in sorted(scores, key=lambda key: (-scores[key], key.citation_id)):
                texts.add(self._evidence[key].place.parent_text)
                if len(texts) > depth:
                    break
                kept.add(key)
        self._evidence = {key: self._evidence[key] for key in self._evidence if key in kept}

    def without_dense(self) -> dict[str, list[ParentKey]]:
        """Parents that only BM25 found, by topic."""
        missing: defaultdict[str, list[ParentKey]] = defaultdict(list)
        for key, evidence in self._evidence.items():
            if evidence.dense is None:
                missing[evidence.place.topic].append(key)
        return missing

    def without_bm25(self) -> list[ParentKey]:
        """Parents that BM25 did not find."""
        return [key for key, evidence in self._evidence.items() if evidence.bm25 is None]

    def rank(
        self, profile: Profile, in_force: Callable[[str], bool], *, want_candidates: bool = False
    ) -> Ranking:
        """Fuses the evidence, leaves repeated texts out, takes the best parents.

        Args:
            in_force: whether a document, by its id, is in force; of equal texts such a one stays.
        """
        scores = self._with_documents(self._fused(profile), profile.document_weight)
        order = sorted(scores, key=lambda key: (-scores[key], key.citation_id, key.stage))
        places = {key: self._evidence[key].place for key in order}
        repeated = duplicate_parents(places.values(), in_force)
        kept = [key for key in order if key not in repeated]
        # Without candidates nothing is made of the parents that are not returned.
        ranked = [
            self._ranked(key, scores[key]) for key in (kept if want_candidates else kept[: profile.parents])
        ]
        return Ranking(
            parents=ranked[: profile.parents],
            candidates=cut_children(
                (child for parent in ranked for child in parent.children),
                per_collection=profile.per_collection,
                candidates=profile.candidates,
            )
            if want_candidates
            else (),
            duplicates=other_documents(repeated, {key: place.document_id for key, place in places.items()}),
        )

    def _of_child(self, topic: str, hit: Hit) -> Evidence:
        child = hit.child
        known = self._evidence.get(child.parent)
        if known is None:
            place = ParentPlace(child.parent, child.document_id, topic, child.parent_text)
            known = self._evidence[child.parent] = Evidence(place)
        return known

    def _dense(self) -> dict[ParentKey, float]:
        return {key: one.dense for key, one in self._evidence.items() if one.dense is not None}

    def _bm25(self) -> dict[ParentKey, float]:
        return {key: one.bm25 for key, one in self._evidence.items() if one.bm25 is not None}

    def _fused(self, profile: Profile) -> dict[ParentKey, float]:
        dense, bm25 = self._dense(), self._bm25()
        if profile.fusion is Fusion.RRF:
            rankings = [sorted(leg, key=lambda key: (-leg[key], key.citation_id)) for leg in (dense, bm25)]
            return rrf_scores(rankings, profile.rrf_k)
        return convex_scores(
            [
                # Every parent has children: one without a cosine lies where the dense search failed.
                WeightedLeg(profile.dense_weight, dense, absent_counts=False),
                # No parent can have less than 0: shared words are worth something even to the last one.
                WeightedLeg(1 - profile.dense_weight, bm25, lowest=0.0),
            ]
        )

    def _with_documents(self, scores: Mapping[ParentKey, float], weight: float) -> dict[ParentKey, float]:
        """Draws each parent towards the best ones of its document.

        A document that several good parents speak for is more likely the right one: passage scores and
        document scores support each other (Callan, SIGIR 1994, "Passage-Level Evidence in Document
        Retrieval").
        """
        if not weight:
            return dict(scores)
        by_document: defaultdict[str, list[float]] = defaultdict(list)
        for key, score in scores.items():
            by_document[self._evidence[key].place.document_id].append(score)
        support = {}
        for document_id, own in by_document.items():
            best = sorted(own, reverse=True)[:_SUPPORTING_PARENTS]
            support[document_id] = sum(best) / len(best)
        return {
            key: (1 - weight) * score + weight * support[self._evidence[key].place.document_id]
            for key, score in scores.items()
        }

    def _ranked(self, key: ParentKey, score: float) -> RankedParent:
        evidence = self._evidence[key]
        children = [
            FusedChild(
                child=hit.child,
                topic=evidence.place.topic,
                score=score,
                dense_score=evidence.cosines[ordinal].score if ordinal in evidence.cosines else None,
                bm25_score=(
                    evidence.bm25_children[ordinal].score if ordinal in evidence.bm25_children else None
                ),
            )
            for ordinal, hit in (evidence.bm25_children | evidence.cosines).items()
        ]
        children.sort(key=_child_order)
        return RankedParent(
            key=key,
            document_id=evidence.place.document_id,
            score=score,
            dense_score=max((hit.score for hit in evidence.cosines.values()), default=None),
            bm25_score=evidence.bm25,
            children=tuple(children),
        )


def _child_order(fused: FusedChild) -> tuple[float, float, int]:
    """By cosine, those without one behind; then by BM25, then as they stand in the text."""
    dense = -2.0 if fused.dense_score is None else fused.dense_score
    return -dense, -(fused.bm25_score or 0.0), fused.child.ordinal
