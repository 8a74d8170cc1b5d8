"""How each kind of server is told that the model shall not think before it answers."""

from __future__ import annotations

from enum import Enum


class Thinking(Enum):
    """How thinking is turned off.

    CHAT_TEMPLATE_KWARGS: the chat template is told so; vLLM, llama.cpp (with --jinja).
    REASONING_EFFORT_NONE: the request says so; Ollama.
    LEAVE: nothing is sent; for models that never think, e.g. Qwen3-30B-A3B-Instruct-2507.
    """

    CHAT_TEMPLATE_KWARGS = "chat_template_kwargs"
    REASONING_EFFORT_NONE = "reasoning_effort_none"
    LEAVE = "leave"


def thinking_off(thinking: Thinking) -> dict[str, object]:
    """Fields of a chat request that turn thinking off."""
    match thinking:
        case Thinking.CHAT_TEMPLATE_KWARGS:
            # Qwen3 model card: the template then closes an empty think block in the prompt.
            return {"chat_template_kwargs": {"enable_thinking": False}}
        case Thinking.REASONING_EFFORT_NONE:
            return {"reasoning_effort": "none"}
        case Thinking.LEAVE:
            return {}
