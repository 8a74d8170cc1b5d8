"""Filters as conditions of the embedded engine."""

from __future__ import annotations

from collections.abc import Sequence

import qdrant_edge as edge

from retrieval_svc.model import Filters

# Fields that conditions use, by kind of shard; each has a payload index. An index costs about eight files to
# sync at every flush, so nothing else has one: a version is addressed by its stage.
CHILD_FIELDS = {
    "stage": edge.PayloadSchemaType.Keyword,
    "document_id": edge.PayloadSchemaType.Keyword,
    "language": edge.PayloadSchemaType.Keyword,
    "source_category": edge.PayloadSchemaType.Keyword,
    "year": edge.PayloadSchemaType.Integer,
}
PARENT_FIELDS = {"stage": edge.PayloadSchemaType.Keyword}
CATALOGUE_FIELDS: dict[str, edge.PayloadSchemaType] = {}


def condition(filters: Filters) -> edge.Filter | None:
    """All set fields must hold, values of one field are alternatives. An unknown year (0) is in no range."""
    must = [
        edge.FieldCondition(key, match=edge.MatchAny(list(values)))
        for key, values in (
            ("language", [language.lower() for language in filters.languages]),
            ("source_category", filters.source_categories),
            ("document_id", filters.document_ids),
        )
        if values
    ]
    if filters.year_from or filters.year_to:
        must.append(
            edge.FieldCondition(
                "year",
                range=edge.RangeFloat(gte=max(1, filters.year_from), lte=filters.year_to or None),
            )
        )
    return edge.Filter(must=list(must)) if must else None


def of_stages(stages: Sequence[str]) -> edge.Filter:
    """Points of any of these stagings."""
    return edge.Filter(must=[edge.FieldCondition("stage", match=edge.MatchAny(list(stages)))])
