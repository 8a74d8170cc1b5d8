"""Builds the prompt: rules, context as delimited data with ids, the question (DESIGN section 7.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files

from gateway.model import Passage, PromptMessage

# Changes whenever system.txt or the form of the context changes; answers name it.
PROMPT_VERSION = "3"

# Chat-template and reasoning markers of the model families a site may serve, and our own delimiters. A
# document or question that holds them must not be able to speak as the system.
_CONTROL = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|</?(?:s|think|tool_call|tool_response|context|passage|question|system|user|assistant)\b"
    r"[^<>\n]{0,200}>|\[/?(?:INST|SYS)\]|<</?SYS>>|<(?:start|end)_of_turn>|<(?:bos|eos|pad|unk)>",
    re.IGNORECASE,
)
_INNER = str.maketrans({"<": "‹", ">": "›", "[": "⟦", "]": "⟧"})


def neutralise(text: str) -> str:
    """The text with control tokens and fake delimiters made harmless; everything else is untouched."""
    return _CONTROL.sub(lambda match: match.group().translate(_INNER), text)


def build_prompt(question: str, passages: Sequence[Passage]) -> tuple[PromptMessage, ...]:
    """System and user message; passages in the given order."""
    rules = files("gateway.prompting").joinpath("system.txt").read_text(encoding="utf-8").strip()
    context = "\n".join(_passage(passage) for passage in passages)
    return (
        PromptMessage("system", rules),
        PromptMessage(
            "user",
            f"<context>\n{context}\n</context>\n\n<question>\n{neutralise(question)}\n</question>",
        ),
    )


def _passage(passage: Passage) -> str:
    document = passage.document
    section = " > ".join(passage.section_path)
    attributes = {
        "id": passage.citation_id,
        "title": document.title,
        "section": section,
        "version": str(passage.version),
        "date": str(document.year) if document.year else "",
        "in-force-from": f"{document.effective_from:%Y-%m-%d}" if document.effective_from else "",
        "in-force-until": f"{document.effective_until:%Y-%m-%d}" if document.effective_until else "",
        "not-in-force": passage.validity.replace("_", " ") if passage.is_out_of_force else "",
        "superseded-by": passage.superseded_by,
    }
    head = " ".join(f'{name}="{_attribute(value)}"' for name, value in attributes.items() if value)
    return f"<passage {head}>\n{neutralise(passage.text)}\n</passage>"


def _attribute(value: str) -> str:
    return neutralise(value).replace('"', "'").replace("\n", " ")
