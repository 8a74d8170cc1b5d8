"""What is asked of retrieval, and what is accepted. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from radref.errors import InvalidInput
from retrieval_svc.language_tags import language_range
from retrieval_svc.model import Filters, Leg, Metadata, StageRecord
from retrieval_svc.profiles import Profile, VariantRanking
from retrieval_svc.staging import check_document_id, check_version, unknown_topic

MAX_QUERY = 20_000
# Filter values of one field; a longer list is a mistake of the caller and costs time in every collection.
MAX_FILTER_VALUES = 1000
_YEARS = (1800, 2200)
# Values named in an error message.
_VALUES_NAMED = 30


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes of the funnel as asked for; 0 = the profile's. Ranges in documents.proto."""

    per_collection: int = 0
    candidates: int = 0
    parents: int = 0


@dataclass(frozen=True, slots=True)
class Preview:
    """A staged version to search as if it were the one that is searched."""

    document_id: str
    version: int


@dataclass(frozen=True, slots=True)
class Query:
    """A question to retrieve for.

    Attributes:
        text: 1-20000 characters.
        legs: empty = all.
        topics: empty = all that are searched by default.
        preview: None = what is searched, as it is.
        want_candidates: also return every fused child.
    """

    text: str
    legs: tuple[Leg, ...] = ()
    limits: Limits = Limits()
    topics: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    preview: Preview | None = None
    want_candidates: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked query: what is searched and how.

    Attributes:
        okapi: `retrieval_svc.variant_search` answers it in place of the funnel; `legs` is BM25 then.
    """

    text: str
    legs: tuple[Leg, ...]
    topics: tuple[str, ...]
    filters: Filters
    profile: Profile
    okapi: bool
    preview: Preview | None = None
    want_candidates: bool = False


@dataclass(frozen=True, slots=True)
class Topics:
    """The site's collections, in the order of the settings.

    Attributes:
        default: searched unless a query names topics.
        on_request: searched only when named (consult).
        appropriateness: the one whose passages are clinical variants; there may be none of this name.
    """

    default: tuple[str, ...]
    on_request: tuple[str, ...]
    appropriateness: str = "consult"

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.default, *self.on_request)


def plan(query: Query, topics: Topics, profile: Profile) -> Plan:
    """Checks a query and puts the profile's values where it names none.

    Raises:
        InvalidInput: EMPTY_TEXT, TEXT_TOO_LONG, OUT_OF_RANGE, UNKNOWN_TOPIC or INVALID_FIELD.
    """
    if not query.text.strip():
        raise InvalidInput("the question is empty", reason="EMPTY_TEXT", field="query")
    if len(query.text) > MAX_QUERY:
        raise InvalidInput(
            f"the question has {len(query.text)} characters, at most {MAX_QUERY} are read",
            reason="TEXT_TOO_LONG",
            field="query",
            metadata={"limit": str(MAX_QUERY)},
        )
    for topic in query.topics:
        if topic not in topics.all:
            raise unknown_topic(topic, topics.all, "filters.topics")
    _check_filters(query.filters)
    if query.preview is not None:
        check_document_id(query.preview.document_id, "preview.document_id")
        check_version(query.preview.version, "preview.version")
    searched = tuple(dict.fromkeys(query.topics)) or topics.default
    okapi = (
        profile.variants is VariantRanking.OKAPI
        and searched == (topics.appropriateness,)
        # Who names the dense leg wants it, and there is none beside Okapi.
        and Leg.DENSE not in query.legs
    )
    return Plan(
        text=query.text,
        legs=(Leg.BM25,) if okapi else tuple(dict.fromkeys(query.legs)) or tuple(Leg),
        topics=searched,
        filters=query.filters,
        okapi=okapi,
        profile=_limited(profile, query.limits),
        preview=query.preview,
        want_candidates=query.want_candidates,
    )


def check_values(planned: Plan, documents: Mapping[str, Metadata], *, known: Callable[[str], bool]) -> None:
    """Checks that something searched has each value that is filtered for: a mistyped one must not look like
    missing evidence.

    Args:
        documents: metadata of the searched documents, by id.
        known: whether a document that is not searched ever was, or is staged; such a one is no error.

    Raises:
        InvalidInput: UNKNOWN_FILTER_VALUE.
    """
    filters = planned.filters
    for document_id in filters.document_ids:
        if document_id not in documents and not known(document_id):
            raise InvalidInput(
                f"there is no document '{document_id}'",
                reason="UNKNOWN_FILTER_VALUE",
                field="filters.document_ids",
            )
    if filters.languages:
        there = {tag for one in documents.values() for tag in language_range(one.language)}
        for language in filters.languages:
            if language.lower() not in there:
                raise _unknown_value("languages", language, {tag.split("-")[0] for tag in there})
    if filters.source_categories:
        categories = {one.source_category for one in documents.values()} - {""}
        for category in filters.source_categories:
            if category not in categories:
                raise _unknown_value("source_categories", category, categories)


def passes(filters: Filters, record: StageRecord) -> bool:
    """Whether a version passes the filters; the same as the conditions that the stores make of them."""
    metadata = record.metadata
    languages = {tag.lower() for tag in filters.languages}
    if languages and languages.isdisjoint(language_range(metadata.language)):
        return False
    if filters.source_categories and metadata.source_category not in filters.source_categories:
        return False
    if filters.document_ids and record.document_id not in filters.document_ids:
        return False
    if not (filters.year_from or filters.year_to):
        return True
    # An unknown year is in no range.
    return max(1, filters.year_from) <= metadata.year <= (filters.year_to or metadata.year)


def _unknown_value(name: str, value: str, there: Iterable[str]) -> InvalidInput:
    listed = ", ".join(sorted(there)[:_VALUES_NAMED]) or "none"
    return InvalidInput(
        f"no searched document has '{value}' among its {name.replace('_', ' ')}; there are: {listed}",
        reason="UNKNOWN_FILTER_VALUE",
        field=f"filters.{name}",
    )


def _limited(profile: Profile, limits: Limits) -> Profile:
    for name, value, highest in (
        ("per_collection", limits.per_collection, 1000),
        ("candidates", limits.candidates, 5000),
        ("parents", limits.parents, 1000),
    ):
        if not 0 <= value <= highest:
            raise InvalidInput(
                f"{name} must be 1-{highest}, or 0 for the profile's value",
                reason="OUT_OF_RANGE",
                field=f"limits.{name}",
                metadata={"limit": str(highest)},
            )
    per_collection = limits.per_collection or profile.per_collection
    return replace(
        profile,
        per_collection=per_collection,
        candidates=limits.candidates or profile.candidates,
        parents=limits.parents or profile.parents,
        # A leg read less deep than what is kept would make the limit unreachable.
        leg_depth=max(profile.leg_depth, per_collection),
        pool=max(profile.pool, limits.parents),
    )


def _check_filters(filters: Filters) -> None:
    values: Sequence[tuple[str, Sequence[str], int]] = (
        ("languages", filters.languages, 16),
        ("source_categories", filters.source_categories, 64),
        ("document_ids", filters.document_ids, 128),
    )
    for name, given, longest in values:
        path = f"filters.{name}"
        if len(given) > MAX_FILTER_VALUES:
            raise InvalidInput(f"at most {MAX_FILTER_VALUES} {name}", reason="OUT_OF_RANGE", field=path)
        if any(not value or len(value) > longest for value in given):
            raise InvalidInput(f"{name} must have 1-{longest} characters each", field=path)
    for name, year in (("year_from", filters.year_from), ("year_to", filters.year_to)):
        if year and not _YEARS[0] <= year <= _YEARS[1]:
            raise InvalidInput(
                f"{name} must be 0 or {_YEARS[0]}-{_YEARS[1]}", reason="OUT_OF_RANGE", field=f"filters.{name}"
            )
    if filters.year_from and filters.year_to and filters.year_from > filters.year_to:
        raise InvalidInput(
            "year_from is later than year_to", reason="OUT_OF_RANGE", field="filters.year_from"
        )
