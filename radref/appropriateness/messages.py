"""A variant as ingest.v1.AppropriatenessVariant, and back."""

from __future__ import annotations

from collections.abc import Iterable

from radref.api.ingest.v1 import appropriateness_pb2 as pb
from radref.appropriateness.model import Criteria, Procedure, RadiationLevel, Urgency, Variant
from radref.appropriateness.rules import Path, problems, tidy
from radref.errors import InvalidInput

URGENCIES = {
    Urgency.ROUTINE: pb.VARIANT_URGENCY_ROUTINE,
    Urgency.URGENT: pb.VARIANT_URGENCY_URGENT,
    Urgency.EMERGENCY: pb.VARIANT_URGENCY_EMERGENCY,
}
RADIATION_LEVELS = {
    RadiationLevel.NONE: pb.RADIATION_LEVEL_NONE,
    RadiationLevel.LOW: pb.RADIATION_LEVEL_LOW,
    RadiationLevel.MEDIUM: pb.RADIATION_LEVEL_MEDIUM,
    RadiationLevel.HIGH: pb.RADIATION_LEVEL_HIGH,
}
_URGENCY_OF = {number: urgency for urgency, number in URGENCIES.items()}
_LEVEL_OF = {number: level for level, number in RADIATION_LEVELS.items()}
_CRITERIA_FIELDS = {
    "all": "all_criteria",
    "any": "any_criteria",
    "none": "none_criteria",
    "assume": "assumed",
}


def variant_to_proto(variant: Variant) -> pb.AppropriatenessVariant:
    """The message of a variant."""
    return pb.AppropriatenessVariant(
        id=variant.id,
        topic_id=variant.topic_id,
        topic_title=variant.topic_title,
        title=variant.title,
        population=variant.population,
        urgency=URGENCIES[variant.urgency],
        all_criteria=variant.criteria.all,
        any_criteria=variant.criteria.any,
        none_criteria=variant.criteria.none,
        assumed=variant.criteria.assume,
        keywords=variant.keywords,
        narrative=variant.narrative,
        procedures=[_procedure_to_proto(procedure) for procedure in variant.procedures],
        kb_version=variant.kb_version,
        synthetic=variant.synthetic,
    )


def variant_from_proto(message: pb.AppropriatenessVariant) -> Variant:
    """The variant of a message, its texts tidied (`radref.appropriateness.rules.tidy`).

    Raises:
        InvalidInput: the first field that breaks the rules, e.g. "variant.procedures[0].rating".
    """
    variant = Variant(
        id=message.id,
        topic_id=message.topic_id,
        topic_title=tidy(message.topic_title),
        title=tidy(message.title),
        population=message.population,
        urgency=_urgency(message.urgency),
        criteria=Criteria(
            all=_tidied(message.all_criteria),
            any=_tidied(message.any_criteria),
            none=_tidied(message.none_criteria),
            assume=_tidied(message.assumed),
        ),
        keywords=_tidied(message.keywords),
        narrative=tidy(message.narrative),
        procedures=tuple(_procedure(index, procedure) for index, procedure in enumerate(message.procedures)),
        kb_version=tidy(message.kb_version),
        synthetic=message.synthetic,
    )
    found = problems(variant)
    if found:
        where = _field(found[0].path)
        raise InvalidInput(f"{where} {found[0].message}.", reason=found[0].reason, field=where)
    return variant


def _procedure_to_proto(procedure: Procedure) -> pb.RatedProcedure:
    return pb.RatedProcedure(
        id=procedure.id,
        name=procedure.name,
        rating=procedure.rating,
        radiation_level=RADIATION_LEVELS[procedure.radiation_level],
        comment=procedure.comment,
    )


def _procedure(index: int, message: pb.RatedProcedure) -> Procedure:
    level = _LEVEL_OF.get(message.radiation_level)
    if level is None:
        raise _not_set(("procedures", index, "radiation_level"))
    return Procedure(message.id, tidy(message.name), message.rating, level, tidy(message.comment))


def _urgency(number: pb.VariantUrgency.ValueType) -> Urgency:
    urgency = _URGENCY_OF.get(number)
    if urgency is None:
        raise _not_set(("urgency",))
    return urgency


def _not_set(path: Path) -> InvalidInput:
    where = _field(path)
    return InvalidInput(f"{where} is not set, or not known to this release.", field=where)


def _tidied(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(tidy(text) for text in texts)


def _field(path: Path) -> str:
    """The field of the request, e.g. "variant.all_criteria[2]"."""
    steps = path
    if path[0] == "criteria":
        steps = (_CRITERIA_FIELDS[str(path[1])] if len(path) > 1 else "all_criteria", *path[2:])
    return "variant" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
