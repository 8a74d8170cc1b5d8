"""A clinical variant and its rated procedures, as ingest stores them and the gateway reads them.

The form is appropriateness-kb/2: topics hold variants, a variant holds the criteria it fits by and the
procedures that are rated for it. Texts are plain, without line breaks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Urgency(StrEnum):
    """How soon imaging matters; names as in ingest.v1.VariantUrgency."""

    ROUTINE = "routine"
    URGENT = "urgent"
    EMERGENCY = "emergency"


class RadiationLevel(StrEnum):
    """Relative radiation level, in ascending order; names as in ingest.v1.RadiationLevel."""

    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Category(StrEnum):
    """What a rating means; names as in gateway.v1.AppropriatenessCategory."""

    USUALLY_APPROPRIATE = "usually_appropriate"
    MAY_BE_APPROPRIATE = "may_be_appropriate"
    USUALLY_NOT_APPROPRIATE = "usually_not_appropriate"


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure and its rating, 1-9."""

    id: str
    name: str
    rating: int
    radiation_level: RadiationLevel
    comment: str = ""

    @property
    def category(self) -> Category:
        """7-9 usually appropriate, 4-6 may be appropriate, 1-3 usually not (ACR's three categories)."""
        if self.rating >= 7:
            return Category.USUALLY_APPROPRIATE
        return Category.MAY_BE_APPROPRIATE if self.rating >= 4 else Category.USUALLY_NOT_APPROPRIATE


@dataclass(frozen=True, slots=True)
class Criteria:
    """When a variant fits: every item of `all`, at least one of `any` (if there are any), none of `none`.

    `assume` is what is taken as given when a scenario does not say it, and shown to the user.
    """

    all: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    assume: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Variant:
    """A clinical variant.

    Attributes:
        population: words joined by hyphens, e.g. "adult", "child", "pregnant-or-postpartum".
        procedures: in the order of the knowledge base, at least one.
        kb_version: version of the knowledge base it belongs to.
        synthetic: the base is invented for testing and must carry a banner.
    """

    id: str
    topic_id: str
    topic_title: str
    title: str
    population: str
    urgency: Urgency
    criteria: Criteria
    keywords: tuple[str, ...]
    narrative: str
    procedures: tuple[Procedure, ...]
    kb_version: str
    synthetic: bool
