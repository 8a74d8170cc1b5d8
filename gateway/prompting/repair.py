"""The prompt of a second attempt, after output that could not be read."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.model import PromptMessage


def with_repair(messages: Sequence[PromptMessage], fault: str) -> tuple[PromptMessage, ...]:
    """The same prompt, its last message followed by what was wrong.

    The unreadable output itself is not sent back: it may be long, or have been steered by a document.

    Args:
        messages: at least one.
        fault: of an AnswerFormatError, which never holds the output.
    """
    last = messages[-1]
    note = (
        f"\n\n<correction>\nA first attempt could not be used: {fault}. Answer with the JSON object of the "
        "schema and nothing else.\n</correction>"
    )
    return (*messages[:-1], PromptMessage(last.role, last.content + note))
