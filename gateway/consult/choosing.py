"""A language model's choice among candidate variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from gateway.answering.schema import AnswerFormatError
from gateway.consult.contract import CONTRACT_VERSION, SCHEMA_JSON, Checked, checked, contract_prompt
from gateway.consult.result import CitedVariant
from gateway.consult.selection import Decision
from gateway.model import GenerationEnd, PromptMessage, RankedPassage
from gateway.ports import Generating
from gateway.prompting.repair import with_repair
from gateway.validation import ValidationCounts
from radref.service.metrics import stage_timer

_ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class Choice:
    """What the model chose, after the check.

    Attributes:
        citation_id: of the one variant whose procedures it named; None = none, or several.
        decision: why there is none; RECOMMENDED otherwise.
        generator: "model@fingerprint".
    """

    citation_id: str | None
    decision: Decision
    counts: ValidationCounts
    generator: str
    prompt_version: str
    milliseconds: float
    prompt_tokens: int
    completion_tokens: int


async def choose(
    generating: Generating,
    *,
    model: str,
    scenario: str,
    passages: Sequence[RankedPassage],
    variants: Mapping[str, CitedVariant],
    max_tokens: int,
) -> Choice:
    """Asks the model; output that cannot be read is asked for once more.

    Args:
        passages, variants: the candidates, the same ones.

    Raises:
        InvalidInput: UNKNOWN_MODEL, or the prompt does not fit into the model's window.
        Unavailable: the generator does not answer, or died in the middle.
    """
    messages = contract_prompt(scenario, passages)
    result: Checked | None = None
    ends: list[GenerationEnd] = []
    with stage_timer("generate") as clock:
        for _ in range(_ATTEMPTS):
            output, end = await _written(generating, model, messages, scenario, passages, max_tokens)
            ends.append(end)
            try:
                result = checked(output, variants)
                break
            except AnswerFormatError as exc:
                messages = with_repair(messages, str(exc))
    decision, citation_id = Decision.VALIDATOR, None
    if result is not None:
        if result.insufficient or len(result.variants) > 1:
            decision = Decision.GENERATOR if result.insufficient else Decision.TIE
        elif result.variants:
            decision, citation_id = Decision.RECOMMENDED, result.variants[0]
    return Choice(
        citation_id=citation_id,
        decision=decision,
        counts=result.counts if result else ValidationCounts(),
        generator=f"{ends[-1].model}@{ends[-1].fingerprint}",
        prompt_version=CONTRACT_VERSION,
        milliseconds=clock.milliseconds,
        prompt_tokens=sum(end.prompt_tokens for end in ends),
        completion_tokens=sum(end.completion_tokens for end in ends),
    )


async def _written(
    generating: Generating,
    model: str,
    messages: Sequence[PromptMessage],
    scenario: str,
    passages: Sequence[RankedPassage],
    max_tokens: int,
) -> tuple[str, GenerationEnd]:
    pieces: list[str] = []
    end: GenerationEnd | None = None
    stream = generating.generate(
        model=model,
        messages=messages,
        query=scenario,
        passages=passages,
        json_schema=SCHEMA_JSON,
        max_tokens=max_tokens,
    )
    async with aclosing(stream) as parts:
        async for part in parts:
            if isinstance(part, str):
                pieces.append(part)
            else:
                end = part
    assert end is not None, "a generation ends with its GenerationEnd"
    return "".join(pieces), end
