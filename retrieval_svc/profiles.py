"""The two named settings of the retrieval funnel.

`paper` is what Paper A (Erizhokov et al., Data 2026, 11(6), 143) describes: children are ranked by RRF with
equal weights inside each collection, the best 15 of each are kept, the best 90 of all, and the parents of the
13 best are returned; in the appropriateness collection it is Paper B's BM25, see
`retrieval_svc.variant_bm25`. `default` ranks parents instead: by the cosine of their best child and by the
BM25 score of their whole text, both normalised and added over all collections at once. The figures that led
there are in docs/retrieval.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RankingUnit(StrEnum):
    """What is ranked: children, whose parents are then looked up, or parents."""

    CHILDREN = "children"
    PARENTS = "parents"


class Fusion(StrEnum):
    """How the legs become one ranking.

    RRF_COLLECTION: reciprocal ranks inside each collection (children only). RRF: reciprocal ranks over all
    collections at once. CONVEX: a weighted mean of normalised scores over all collections (parents only).
    """

    RRF_COLLECTION = "rrf-collection"
    RRF = "rrf"
    CONVEX = "convex"


class IdfScope(StrEnum):
    """Over what BM25 counts documents: each collection by itself, or all that are searched by default."""

    COLLECTION = "collection"
    CORPUS = "corpus"


class VariantRanking(StrEnum):
    """What ranks a query of the appropriateness collection alone.

    FUNNEL: the same as any other collection. OKAPI: rank_bm25's Okapi over its variants, no dense leg.
    """

    FUNNEL = "funnel"
    OKAPI = "okapi"


@dataclass(frozen=True, slots=True)
class Profile:
    """Every parameter of the funnel; `retrieval_svc.settings.ProfileSettings` says units and ranges.

    Raises:
        ValueError: a combination that does not exist.
    """

    unit: RankingUnit
    fusion: Fusion
    idf: IdfScope
    bm25_over: RankingUnit
    rrf_k: int
    leg_depth: int
    pool: int
    per_collection: int
    candidates: int
    parents: int
    fill_parents: bool
    dense_weight: float
    language_centring: bool
    document_weight: float
    variants: VariantRanking

    def __post_init__(self) -> None:
        if self.unit is RankingUnit.CHILDREN:
            if self.fusion is Fusion.CONVEX:
                raise ValueError("fusion 'convex' ranks parents: set unit to 'parents'")
            if self.bm25_over is RankingUnit.PARENTS:
                raise ValueError("BM25 over parents ranks parents: set unit to 'parents'")
            if self.language_centring:
                raise ValueError("language_centring ranks parents: set unit to 'parents'")
            if self.document_weight:
                raise ValueError("document_weight ranks parents: set unit to 'parents'")
        elif self.fusion is Fusion.RRF_COLLECTION:
            raise ValueError("fusion 'rrf-collection' ranks children: set unit to 'children'")


# k = 60: Cormack, Clarke and Buettcher, SIGIR 2009, and Paper A. Paper A does not say how deep each leg is
# read before fusion; 50 is over three times what is kept, so that a child low in one leg can still gain.
PAPER = Profile(
    unit=RankingUnit.CHILDREN,
    fusion=Fusion.RRF_COLLECTION,
    idf=IdfScope.COLLECTION,
    bm25_over=RankingUnit.CHILDREN,
    rrf_k=60,
    leg_depth=50,
    pool=50,
    per_collection=15,
    candidates=90,
    parents=13,
    fill_parents=False,
    dense_weight=0.5,
    language_centring=False,
    document_weight=0.0,
    variants=VariantRanking.OKAPI,
)
# The weights are round numbers: 0.5 to 0.67 and 0 to 0.5 differ by no more than two or three of 68 questions
# (docs/retrieval_ablation.md).
DEFAULT = Profile(
    unit=RankingUnit.PARENTS,
    fusion=Fusion.CONVEX,
    idf=IdfScope.CORPUS,
    bm25_over=RankingUnit.PARENTS,
    rrf_k=60,
    leg_depth=20,
    pool=50,
    per_collection=15,
    candidates=90,
    parents=13,
    fill_parents=True,
    dense_weight=0.6,
    language_centring=True,
    document_weight=1 / 3,
    variants=VariantRanking.FUNNEL,
)
PROFILES = {"paper": PAPER, "default": DEFAULT}
