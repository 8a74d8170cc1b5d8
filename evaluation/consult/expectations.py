"""What a set expects, in the words of the knowledge base: responses name topics and procedures by title."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.consult.scenario_set import Item
from radref.appropriateness.kb_file import KnowledgeBase
from radref.appropriateness.model import Variant
from radref.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Expected:
    """An item with its topic's title ("" where an abstention is expected) and the name of its best procedure
    ("" for probes)."""

    item: Item
    topic_title: str = ""
    top_procedure_name: str = ""


def expectations(items: Sequence[Item], base: KnowledgeBase, set_name: str) -> list[Expected]:
    """Looks up every item's variant and procedure.

    Args:
        set_name: file name of the set, for messages.

    Raises:
        InvalidInput: the base has no such variant, or the variant no such procedure; names the line.
    """
    variants = {variant.id: variant for variant in base.variants}
    expected = []
    for item in items:
        if item.expect == "abstain":
            expected.append(Expected(item))
            continue
        where = f"{set_name}, line {item.line}: {item.id}"
        if item.variant not in variants:
            raise InvalidInput(
                f"{where} expects the variant {item.variant}, which the knowledge base does not hold",
                field="set",
            )
        variant = variants[item.variant]
        name = _procedure_name(variant, item.top_procedure, where) if item.top_procedure else ""
        expected.append(Expected(item, variant.topic_title, name))
    return expected


def _procedure_name(variant: Variant, procedure_id: str, where: str) -> str:
    for procedure in variant.procedures:
        if procedure.id == procedure_id:
            return procedure.name
    raise InvalidInput(
        f"{where} expects the procedure {procedure_id}, which the variant {variant.id} does not rate",
        field="set",
    )
