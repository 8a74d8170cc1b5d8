"""Variants of every allowed kind, and one to change."""

from __future__ import annotations

from hypothesis import strategies as st

from radref.appropriateness.model import Criteria, Procedure, RadiationLevel, Urgency, Variant
from radref.appropriateness.rules import problems, tidy

# What Markdown, YAML and the passage's own form could stumble over, and any other letter.
_LETTERS = st.one_of(
    st.sampled_from(list("\\\\\\||;;-#*_`<>[](): \"'a1йё")),
    st.characters(exclude_categories=("C", "Zl", "Zp")),
)


def texts(most: int = 30, least: int = 1) -> st.SearchStrategy[str]:
    return st.text(_LETTERS, min_size=least, max_size=most).map(tidy).filter(lambda text: len(text) >= least)


_IDS = st.from_regex(r"[a-z0-9-]{1,12}", fullmatch=True)
_ITEMS = st.lists(texts(), max_size=4).map(tuple)

_PROCEDURES = st.lists(
    st.builds(
        Procedure,
        id=st.from_regex(r"[A-Za-z0-9._-]{1,12}", fullmatch=True),
        name=texts(),
        rating=st.integers(1, 9),
        radiation_level=st.sampled_from(RadiationLevel),
        comment=texts(least=0),
    ),
    min_size=1,
    max_size=4,
).map(tuple)

variants = st.builds(
    Variant,
    id=_IDS,
    topic_id=st.from_regex(r"[A-Za-z0-9._-]{1,12}", fullmatch=True),
    topic_title=texts(),
    title=texts(),
    population=st.sampled_from(["adult", "pregnant-or-postpartum", "взрослый"]),
    urgency=st.sampled_from(Urgency),
    criteria=st.builds(Criteria, all=_ITEMS, any=_ITEMS, none=_ITEMS, assume=_ITEMS),
    keywords=_ITEMS,
    narrative=texts(least=0),
    procedures=_PROCEDURES,
    kb_version=texts(),
    synthetic=st.booleans(),
).filter(lambda variant: not problems(variant))


def a_variant(**changes: object) -> Variant:
    fields: dict[str, object] = {
        "id": "knee-ottawa",
        "topic_id": "knee",
        "topic_title": "Knee trauma",
        "title": "Acute knee trauma, inability to bear weight. Initial imaging.",
        "population": "adult",
        "urgency": Urgency.URGENT,
        "criteria": Criteria(
            all=("knee trauma",), any=("unable to bear weight",), none=("child",), assume=("adult",)
        ),
        "keywords": ("Ottawa rule", "effusion"),
        "narrative": "A fracture is looked for first.",
        "procedures": (
            Procedure("xr-knee", "Radiography knee", 9, RadiationLevel.LOW, "First study."),
            Procedure("mri-knee-wo", "MRI knee without IV contrast", 5, RadiationLevel.NONE),
        ),
        "kb_version": "2026.1-synthetic",
        "synthetic": True,
    }
    return Variant(**(fields | changes))  # type: ignore[arg-type]
