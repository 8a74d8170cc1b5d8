"""The contract with a language model, and the check of what it wrote (Paper B).

It may only name procedures that stand word for word in a candidate's passage, each with that passage's
citation id, or declare that the evidence is insufficient. What does not resolve is stripped, never repaired.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from gateway.answering.schema import AnswerFormatError, cleaned
from gateway.consult.result import CitedVariant
from gateway.model import PromptMessage, RankedPassage
from gateway.prompting.neutralise import neutralise
from gateway.prompting.prompt import passage_block
from gateway.validation import ValidationCounts

# Changes whenever contract.txt or the form of the context changes.
CONTRACT_VERSION: Final = "consult-1"
_MOST_RECOMMENDATIONS: Final = 32
_MOST_CHARACTERS: Final = 50_000

_STRING: Final = {"type": "string"}
SCHEMA_JSON: Final = json.dumps(
    {
        "type": "object",
        "properties": {
            "analysis": {"type": "string", "description": "Step by step look at the candidates. Not shown."},
            "insufficient_evidence": {"type": "boolean"},
            "recommendations": {
                "type": "array",
                "maxItems": _MOST_RECOMMENDATIONS,
                "items": {
                    "type": "object",
                    "properties": {"procedure": _STRING, "citation_id": _STRING},
                    "required": ["procedure", "citation_id"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["analysis", "insufficient_evidence", "recommendations"],
        "additionalProperties": False,
    }
)


@dataclass(frozen=True, slots=True)
class Checked:
    """A model's output after the check.

    Attributes:
        insufficient: it declared that the evidence does not suffice.
        variants: citation ids of the variants whose procedures it named, in its order.
    """

    insufficient: bool
    variants: tuple[str, ...]
    counts: ValidationCounts


def contract_prompt(scenario: str, candidates: Sequence[RankedPassage]) -> tuple[PromptMessage, ...]:
    """Rules, candidates as delimited data with ids, the scenario."""
    rules = files("gateway.consult").joinpath("contract.txt").read_text(encoding="utf-8").strip()
    context = "\n".join(passage_block(candidate.passage) for candidate in candidates)
    return (
        PromptMessage("system", rules),
        PromptMessage(
            "user", f"<context>\n{context}\n</context>\n\n<question>\n{neutralise(scenario)}\n</question>"
        ),
    )


def checked(output: str, candidates: Mapping[str, CitedVariant]) -> Checked:
    """Reads a model's output and strips what does not resolve.

    Args:
        candidates: by citation id, those it was shown.

    Raises:
        AnswerFormatError: it is not of the contract's shape; the message never holds the output.
    """
    raw = _object(output)
    insufficient, items = raw.get("insufficient_evidence"), raw.get("recommendations")
    if not isinstance(insufficient, bool) or not isinstance(items, list):
        raise AnswerFormatError("the generator's output is not of the contract's shape")
    valid = unknown = misquoted = 0
    variants: dict[str, None] = {}
    for item in items:
        name, citation_id = (
            (item.get("procedure"), item.get("citation_id")) if isinstance(item, dict) else ("", "")
        )
        cited = candidates.get(citation_id) if isinstance(citation_id, str) else None
        if cited is None:
            unknown += 1
        elif not any(name == procedure.name for procedure in cited.variant.procedures):
            misquoted += 1
        else:
            valid += 1
            variants[cited.citation_id] = None
    counts = ValidationCounts(
        citations_valid=valid,
        citations_unknown=unknown,
        citations_misquoted=misquoted,
        statements_kept=valid,
        statements_uncited=unknown + misquoted,
    )
    return Checked(insufficient, tuple(variants), counts)


def _object(output: str) -> dict[str, Any]:
    if len(output) > _MOST_CHARACTERS:
        raise AnswerFormatError(f"the generator's output is longer than {_MOST_CHARACTERS} characters")
    # Thoughts and fences around the object: they hold no content that is used.
    start, end = output.rfind("</think>") + 1, output.rfind("}")
    start = output.find("{", start)
    if start < 0 or end < start:
        raise AnswerFormatError("the generator's output is not JSON")
    try:
        result = cleaned(json.loads(output[start : end + 1], strict=False))
    except (ValueError, RecursionError):
        raise AnswerFormatError("the generator's output is not JSON") from None
    if not isinstance(result, dict):
        raise AnswerFormatError("the generator's output is not a JSON object")
    return result
