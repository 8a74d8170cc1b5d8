"""Rows that the product itself can be set to, or would be with another index."""

from __future__ import annotations

from dataclasses import dataclass, replace

from retrieval_svc.model import Leg
from retrieval_svc.profiles import DEFAULT, PAPER, Fusion, IdfScope, Profile, RankingUnit

STEPS = "From `paper` to `default`, step by step"
CHANGES = "`default` with one change"
INDEXES = "Another index"

PAPER_ROW = "paper"
ONE_LIST_ROW = "+ RRF over all collections"
BASE_ROW = "+ document support = default"


@dataclass(frozen=True, slots=True)
class ProductRow:
    """A profile over an index.

    Attributes:
        analysis: one of `analyses.ANALYSES`.
        legs: empty = both.
    """

    group: str
    name: str
    profile: Profile
    analysis: str = "default"
    legs: tuple[Leg, ...] = ()


def steps() -> list[ProductRow]:
    """Each profile is the one before with one more change; the last is `default`."""
    corpus_idf = replace(PAPER, idf=IdfScope.CORPUS)
    filled = replace(corpus_idf, fill_parents=True)
    one_list = replace(filled, fusion=Fusion.RRF)
    parents = replace(
        DEFAULT,
        fusion=Fusion.RRF,
        bm25_over=RankingUnit.CHILDREN,
        language_centring=False,
        document_weight=0.0,
    )
    parents_bm25 = replace(parents, bm25_over=RankingUnit.PARENTS)
    convex = replace(parents_bm25, fusion=Fusion.CONVEX)
    centred = replace(convex, language_centring=True)
    return [
        ProductRow(STEPS, name, profile)
        for name, profile in (
            (PAPER_ROW, PAPER),
            ("+ IDF of the corpus", corpus_idf),
            ("+ filled up to 13 parents", filled),
            (ONE_LIST_ROW, one_list),
            ("+ parents ranked, by their best child in each leg", parents),
            ("+ BM25 of the whole parent", parents_bm25),
            ("+ convex fusion", convex),
            ("+ languages centred", centred),
            (BASE_ROW, DEFAULT),
        )
    ]


def changes() -> list[ProductRow]:
    """`default` with one setting changed."""

    def row(name: str, profile: Profile = DEFAULT, *legs: Leg) -> ProductRow:
        return ProductRow(CHANGES, name, profile, legs=legs)

    return [
        row("dense weight 0.5", replace(DEFAULT, dense_weight=0.5)),
        row("dense weight 0.67", replace(DEFAULT, dense_weight=0.67)),
        row("dense leg only", DEFAULT, Leg.DENSE),
        row("BM25 leg only", DEFAULT, Leg.BM25),
        row("document weight 0", replace(DEFAULT, document_weight=0.0)),
        row("document weight 0.2", replace(DEFAULT, document_weight=0.2)),
        row("document weight 0.5", replace(DEFAULT, document_weight=0.5)),
        row("leg depth 10, pool 50", replace(DEFAULT, leg_depth=10)),
        row("leg depth 30, pool 50", replace(DEFAULT, leg_depth=30)),
        row("leg depth 20, pool 30", replace(DEFAULT, pool=30)),
        row("leg depth 30, pool 100", replace(DEFAULT, leg_depth=30, pool=100)),
        row("languages not centred", replace(DEFAULT, language_centring=False)),
        row("RRF instead of convex fusion", replace(DEFAULT, fusion=Fusion.RRF)),
        row("BM25 of children", replace(DEFAULT, bm25_over=RankingUnit.CHILDREN)),
    ]


def other_indexes() -> list[ProductRow]:
    """`default`, `paper`, and `default` with BM25 of children over indexes that were staged again."""
    children = replace(DEFAULT, bm25_over=RankingUnit.CHILDREN)

    def row(name: str, analysis: str, profile: Profile = DEFAULT) -> ProductRow:
        return ProductRow(INDEXES, name, profile, analysis)

    rows = [
        row("parents without title and headings", "headings swapped"),
        row("BM25 of children, with headings", "headings swapped", children),
        row("paper, children with headings", "headings swapped", PAPER),
        row("average length of a parent 300", "short averages"),
        row("average length of a parent 900", "long averages"),
        row("BM25 of children, average length 92", "short averages", children),
        row("BM25 of children, average length 200", "long averages", children),
        row("paper, average length of a child 92", "short averages", PAPER),
        row("paper, average length of a child 200", "long averages", PAPER),
    ]
    rows += [
        row(analysis, analysis)
        for analysis in (
            "k 0.9, b 0.4",
            "no stopwords",
            "no stemming",
            "English stemming",
            "Russian stemming",
            "numbers split",
        )
    ]
    return rows
