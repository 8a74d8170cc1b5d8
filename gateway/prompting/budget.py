"""How many passages fit into the prompt. Whole passages are left out, from the end; none is cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gateway.model import PromptMessage, RankedPassage
from gateway.prompting.prompt import assembled, passage_block

# Byte-level BPE of the Qwen, Llama and Mistral families: about 4.2 bytes a token in English, 4.8 in Russian,
# but digits are tokens of their own in most of them. Three bytes a token stays on the safe side of both.
_BYTES_A_TOKEN: Final = 3


def estimated_tokens(text: str) -> int:
    """Upper estimate of the tokens of a text in the models a site may serve.

    Their tokenizers are not here, and the embedder's counts other pieces: a digit counts as a token, every
    three other bytes of UTF-8 as one.
    """
    digits = sum(character.isdigit() for character in text)
    return digits + -(-(len(text.encode("utf-8", "replace")) - digits) // _BYTES_A_TOKEN)


def prompt_within(
    question: str, parents: Sequence[RankedPassage], max_tokens: int
) -> tuple[tuple[PromptMessage, ...], int]:
    """The prompt with as many of the first passages as fit, and how many these are.

    Args:
        question: as accepted.
        parents: best first.
        max_tokens: bound on the whole prompt, by `estimated_tokens`.
    """
    blocks = [passage_block(parent.passage) for parent in parents]
    size = sum(estimated_tokens(message.content) for message in assembled(question, ()))
    count = 0
    for block in blocks:
        # A line break joins it to the next one.
        size += estimated_tokens(block) + 1
        if size > max_tokens:
            break
        count += 1
    return assembled(question, blocks[:count]), count
