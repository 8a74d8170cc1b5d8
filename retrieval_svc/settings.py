"""Settings of the retrieval service: section `retrieval` of the settings file, RADREF_RETRIEVAL_*."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from radref.service.settings import ServiceSettings
from retrieval_svc.profiles import PROFILES, Fusion, IdfScope, Profile, RankingUnit, VariantRanking
from retrieval_svc.query import Topics
from retrieval_svc.store.settings import EdgeStoreSettings, StoreSettings

# A topic is also the name of a folder.
Topic = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]


class ProfileSettings(BaseModel):
    """A named profile and what differs from it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal["default", "paper"] = Field(
        default="default", description="the profile that gives every value not set here"
    )
    unit: RankingUnit | None = Field(
        default=None, description="what is ranked: children and then their parents (paper), or parents"
    )
    fusion: Fusion | None = Field(
        default=None,
        description="rrf-collection: reciprocal ranks inside each collection (paper); rrf: over all "
        "collections; convex: weighted mean of normalised scores over all collections (parents only)",
    )
    bm25_over: RankingUnit | None = Field(
        default=None, description="what BM25 scores: children (paper), or the whole text of parents"
    )
    dense_weight: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="weight of the dense leg in convex fusion, BM25 has the rest (default: 0.6)",
    )
    language_centring: bool | None = Field(
        default=None,
        description="take out of the cosines what a question shares with every passage of a language, so "
        "that documents in another language than the question can be found",
    )
    document_weight: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="how far a parent is drawn towards the best parents of its document (default: 1/3)",
    )
    idf: IdfScope | None = Field(
        default=None, description="BM25 counts documents in each collection, or in the whole corpus"
    )
    rrf_k: int | None = Field(default=None, ge=1, le=1000, description="constant k of RRF (profiles: 60)")
    leg_depth: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="children read of each leg in each collection (paper: 50), and of each language where "
        "languages are centred (default: 20)",
    )
    pool: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="best parents of each leg that enter the fusion, where parents are ranked (default: 50)",
    )
    per_collection: int | None = Field(
        default=None, ge=1, le=1000, description="fused children kept of each collection (profiles: 15)"
    )
    candidates: int | None = Field(
        default=None, ge=1, le=5000, description="fused children kept of all collections (profiles: 90)"
    )
    parents: int | None = Field(default=None, ge=1, le=1000, description="parents returned (profiles: 13)")
    fill_parents: bool | None = Field(
        default=None,
        description="go down the list until `parents` different parents are found (default), instead of "
        "taking the parents of that many best children (paper)",
    )

    variants: VariantRanking | None = Field(
        default=None,
        description="what ranks a query of appropriateness_topic alone: funnel, as in any other collection "
        "(default), or okapi: BM25 as in Paper B over its variants, without the dense leg (paper)",
    )

    def resolve(self) -> Profile:
        """The named profile with the overrides.

        Raises:
            ValueError: the combination does not exist.
        """
        changes: dict[str, Any] = self.model_dump(exclude={"name"}, exclude_none=True)
        return replace(PROFILES[self.name], **changes)


class RetrievalSettings(ServiceSettings, section="retrieval"):
    """Settings of the retrieval service."""

    store: StoreSettings = Field(default=EdgeStoreSettings(), description="where the index is")
    data_dir: Path = Field(
        default=Path(".radref/retrieval"),
        description="folder of the index (store.backend edge); one process owns it",
    )
    inference_target: str = Field(default="127.0.0.1:7102", description="host:port of the inference service")
    embed_timeout_seconds: float = Field(
        default=2.0,
        gt=0,
        le=60,
        description="seconds for embedding a question; after that the search goes on without the dense leg",
    )
    search_timeout_seconds: float = Field(
        default=2.0,
        gt=0,
        le=60,
        description="seconds for one search of a collection; after that the answer comes from the others",
    )
    profile: ProfileSettings = Field(default=ProfileSettings(), description="sizes and modes of the funnel")
    topics: tuple[Topic, ...] = Field(
        default=(
            *("safety", "physics", "regulatory", "anatomy", "reference-values"),
            *("glossary", "report-templates"),
        ),
        min_length=1,
        max_length=64,
        description="collections that are searched unless a query names topics",
    )
    topics_on_request: tuple[Topic, ...] = Field(
        default=("consult",), max_length=64, description="collections that are searched only when named"
    )
    appropriateness_topic: Topic = Field(
        default="consult",
        description="collection whose passages are clinical variants with rated procedures; "
        "profile.variants is about it",
    )
    bm25_k: float = Field(
        default=1.2, gt=0, le=10, description="BM25 term frequency saturation; changing it needs a new index"
    )
    bm25_b: float = Field(
        default=0.75, ge=0, le=1, description="BM25 length normalisation; changing it needs a new index"
    )
    bm25_avg_len: float = Field(
        default=114.0,
        gt=0,
        le=100_000,
        description="average tokens of a child without stopwords (114 = measured on 5,930 children of the "
        "development corpus); changing it needs a new index",
    )
    bm25_parent_avg_len: float = Field(
        default=567.0,
        gt=0,
        le=100_000,
        description="the same of a parent with title and headings (567 = measured on 1,249 parents of the "
        "development corpus); changing it needs a new index",
    )
    bm25_headings: bool = Field(
        default=False,
        description="put title and heading path before a child's text for BM25, as is always done for "
        "parents; changing it needs a new index",
    )
    maintenance_interval_seconds: float = Field(
        default=30.0, gt=0, le=86_400, description="seconds between rounds of index maintenance"
    )
    superseded_retention_seconds: float = Field(
        default=86_400.0,
        ge=0,
        le=31_536_000,
        description="seconds a version can be activated again after another one took its place",
    )
    deletion_grace_seconds: float = Field(
        default=600.0,
        ge=0,
        le=86_400,
        description="seconds before points that no version needs are deleted; longer than the longest query",
    )
    compact_after_changes: int = Field(
        default=5000,
        ge=1,
        le=10_000_000,
        description="points written or deleted in a collection before it is optimised in the background",
    )

    @model_validator(mode="after")
    def _distinct_topics(self) -> RetrievalSettings:
        names = (*self.topics, *self.topics_on_request)
        if len(set(names)) != len(names):
            raise ValueError("a topic is named twice")
        # The default may be missing: a site need not have such a collection.
        if "appropriateness_topic" in self.model_fields_set and self.appropriateness_topic not in names:
            raise ValueError("appropriateness_topic is none of the topics")
        return self

    @model_validator(mode="after")
    def _possible_profile(self) -> RetrievalSettings:
        self.profile.resolve()
        return self

    @property
    def collections(self) -> Topics:
        return Topics(self.topics, self.topics_on_request, self.appropriateness_topic)
