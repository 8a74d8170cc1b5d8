"""Filters as conditions of a Qdrant server."""

from __future__ import annotations

from collections.abc import Sequence

from qdrant_client import models

from retrieval_svc.model import Filters, ParentKey
from retrieval_svc.store.payloads import parent_id

# Fields that conditions use, by kind of collection; each has a payload index.
_FILTERED = {
    "stage": models.PayloadSchemaType.KEYWORD,
    "document_id": models.PayloadSchemaType.KEYWORD,
    "language": models.PayloadSchemaType.KEYWORD,
    "source_category": models.PayloadSchemaType.KEYWORD,
    "year": models.PayloadSchemaType.INTEGER,
}
CHILD_FIELDS = {**_FILTERED, "citation_id": models.PayloadSchemaType.KEYWORD}
PARENT_FIELDS = {**_FILTERED, "topic": models.PayloadSchemaType.KEYWORD}

_Condition = models.FieldCondition | models.HasIdCondition


def of_children(filters: Filters, parents: Sequence[ParentKey]) -> models.Filter | None:
    """Children that pass the filters, and are of one of these parents where any are named."""
    must = _conditions(filters)
    if parents:
        must.append(_any("citation_id", [key.citation_id for key in parents]))
        must.append(_any("stage", sorted({key.stage for key in parents})))
    return models.Filter(must=list(must)) if must else None


def of_parents(filters: Filters, topics: Sequence[str], parents: Sequence[ParentKey]) -> models.Filter:
    """Parents of these topics that pass the filters, only the named ones where any are."""
    must = [_any("topic", topics), *_conditions(filters)]
    if parents:
        must.append(models.HasIdCondition(has_id=[parent_id(key) for key in parents]))
    return models.Filter(must=list(must))


def of_stages(stages: Sequence[str]) -> models.Filter:
    """Points of any of these stagings."""
    return models.Filter(must=[_any("stage", stages)])


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
        years = models.Range(gte=max(1, filters.year_from), lte=filters.year_to or None)
        must.append(models.FieldCondition(key="year", range=years))
    return must


def _any(key: str, values: Sequence[str]) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))
