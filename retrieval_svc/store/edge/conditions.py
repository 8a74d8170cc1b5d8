"""Filters as conditions of the embedded engine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import qdrant_edge as edge

from retrieval_svc.model import Filters, ParentKey
from retrieval_svc.store.payloads import parent_id

# Fields that conditions use, by kind of shard; each has a payload index. An index costs about eight files to
# sync at every flush, so nothing else has one: a version is addressed by its stage.
_FILTERED = {
    "stage": edge.PayloadSchemaType.Keyword,
    "document_id": edge.PayloadSchemaType.Keyword,
    "language": edge.PayloadSchemaType.Keyword,
    "source_category": edge.PayloadSchemaType.Keyword,
    "year": edge.PayloadSchemaType.Integer,
}
CHILD_FIELDS = {**_FILTERED, "citation_id": edge.PayloadSchemaType.Keyword}
PARENT_FIELDS = {**_FILTERED, "topic": edge.PayloadSchemaType.Keyword}
CATALOGUE_FIELDS: dict[str, edge.PayloadSchemaType] = {}

_Condition = edge.FieldCondition | edge.HasIdCondition


def of_children(filters: Filters, parents: Sequence[ParentKey]) -> edge.Filter | None:
    """Children that pass the filters, and are of one of these parents where any are named."""
    if not parents:
        return _of_any_parent(filters)
    must = _conditions(filters)
    must.append(_any("citation_id", [key.citation_id for key in parents]))
    must.append(_any("stage", sorted({key.stage for key in parents})))
    return _all(must)


@lru_cache(maxsize=64)
def _of_any_parent(filters: Filters) -> edge.Filter | None:
    """Kept: a question asks a dozen times with one filter or two."""
    return _all(_conditions(filters))


def of_parents(filters: Filters, topics: Sequence[str], parents: Sequence[ParentKey]) -> edge.Filter | None:
    """Parents of these topics that pass the filters, only the named ones where any are."""
    must = [_any("topic", topics), *_conditions(filters)]
    if parents:
        must.append(edge.HasIdCondition({parent_id(key) for key in parents}))
    return _all(must)


def of_stages(stages: Sequence[str]) -> edge.Filter:
    """Points of any of these stagings."""
    return edge.Filter(must=[_any("stage", stages)])


def _conditions(filters: Filters) -> list[_Condition]:
    """All set fields must hold, values of one field are alternatives. An unknown year (0) is in no range."""
    must: list[_Condition] = [
        _any(key, values)
        for key, values in (
            ("language", [language.lower() for language in filters.languages]),
            ("source_category", filters.source_categories),
            ("document_id", filters.document_ids),
        )
        if values
    ]
    if filters.year_from or filters.year_to:
        years = edge.RangeFloat(gte=max(1, filters.year_from), lte=filters.year_to or None)
        must.append(edge.FieldCondition("year", range=years))
    return must


def _any(key: str, values: Sequence[str]) -> edge.FieldCondition:
    return edge.FieldCondition(key, match=edge.MatchAny(list(values)))


def _all(must: list[_Condition]) -> edge.Filter | None:
    return edge.Filter(must=list(must)) if must else None
