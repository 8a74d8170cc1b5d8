"""Variants as messages of ingest.v1, and back."""

from __future__ import annotations

from radref.api.ingest.v1 import appropriateness_pb2 as pb
from radref.appropriateness.model import Criteria, Procedure, RadiationLevel, Urgency, Variant
from radref.appropriateness.rules import problems
from radref.errors import InvalidInput

_URGENCIES = {one: pb.VariantUrgency.Value(f"VARIANT_URGENCY_{one.name}") for one in Urgency}
_LEVELS = {one: pb.RadiationLevel.Value(f"RADIATION_LEVEL_{one.name}") for one in RadiationLevel}
_FIELDS = {
    "criteria.all": "all_criteria",
    "criteria.any": "any_criteria",
    "criteria.none": "none_criteria",
    "criteria.assume": "assumed",
}


def variant_message(variant: Variant) -> pb.AppropriatenessVariant:
    return pb.AppropriatenessVariant(
        id=variant.id,
        topic_id=variant.topic_id,
        topic_title=variant.topic_title,
        title=variant.title,
        population=variant.population,
        urgency=_URGENCIES[variant.urgency],
        all_criteria=variant.criteria.all,
        any_criteria=variant.criteria.any,
        none_criteria=variant.criteria.none,
        assumed=variant.criteria.assume,
        keywords=variant.keywords,
        narrative=variant.narrative,
        procedures=[
            pb.RatedProcedure(
                id=procedure.id,
                name=procedure.name,
                rating=procedure.rating,
                radiation_level=_LEVELS[procedure.radiation_level],
                comment=procedure.comment,
            )
            for procedure in variant.procedures
        ],
        kb_version=variant.kb_version,
        synthetic=variant.synthetic,
    )


def variant_from_proto(message: pb.AppropriatenessVariant) -> Variant:
    """The variant of a message.

    Raises:
        InvalidInput: a field breaks the rules; `field` names the first one, the message all.
    """
    urgency = next((one for one, value in _URGENCIES.items() if value == message.urgency), None)
    if urgency is None:
        raise InvalidInput("The variant's urgency is missing.", field="variant.urgency")
    procedures = []
    for index, procedure in enumerate(message.procedures):
        level = next((one for one, value in _LEVELS.items() if value == procedure.radiation_level), None)
        if level is None:
            raise InvalidInput(
                "The radiation level of a procedure is missing.",
                field=f"variant.procedures[{index}].radiation_level",
            )
        procedures.append(Procedure(procedure.id, procedure.name, procedure.rating, level, procedure.comment))
    variant = Variant(
        id=message.id,
        topic_id=message.topic_id,
        topic_title=message.topic_title,
        title=message.title,
        population=message.population,
        urgency=urgency,
        criteria=Criteria(
            tuple(message.all_criteria),
            tuple(message.any_criteria),
            tuple(message.none_criteria),
            tuple(message.assumed),
        ),
        keywords=tuple(message.keywords),
        narrative=message.narrative,
        procedures=tuple(procedures),
        kb_version=message.kb_version,
        synthetic=message.synthetic,
    )
    found = problems(variant)
    if found:
        told = "; ".join(f"{_name(problem.path)} {problem.message}" for problem in found[:10])
        raise InvalidInput(
            f"The variant is not well formed: {told}.",
            reason=found[0].reason,
            field=f"variant.{_name(found[0].path)}",
        )
    return variant


def _name(path: tuple[str | int, ...]) -> str:
    """A field as the proto names it: procedures[0].rating."""
    name = ""
    for step in path:
        name += f"[{step}]" if isinstance(step, int) else f".{step}" if name else str(step)
    for ours, theirs in _FIELDS.items():
        if name == ours or name.startswith(f"{ours}["):
            return theirs + name[len(ours) :]
    return name
