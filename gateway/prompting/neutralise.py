"""Takes from documents and questions what could speak as the system: control tokens of model families, our
own delimiters, and what nobody sees.

Everything else is untouched, since a model must copy quotations word for word. What is replaced becomes a
look-alike; what is invisible is left out, which the validator does with quotations, too.
"""

from __future__ import annotations

import re
from typing import Final

from gateway.lookalikes import skeleton, visible

_OURS: Final = (
    r"(?:context|passage|question|correction|system|user|assistant|human|instructions?|rules?"
    r"|analysis|answer)"
)
_CONTROL: Final = re.compile(
    # ChatML, Qwen, Llama 3, Phi, Command R, Harmony, GLM, DeepSeek (with its own bars): "<|im_start|>".
    r"<\s?\|[^|<>\n]{1,60}\|\s?>"
    # Our delimiters, reasoning and tool blocks.
    rf"|<\s{{0,3}}/?\s{{0,3}}(?:s|think(?:ing)?|reasoning|tool_(?:call|response|use)s?|tools?|function|{_OURS})"
    r"\b[^<>\n]{0,200}>"
    # Llama 2, Mistral.
    r"|\[\s?/?\s?(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK)\s?\]"
    r"|<<\s?/?\s?SYS\s?>>"
    # Gemma, T5 and sentencepiece's own.
    r"|<\s?(?:start|end)_of_(?:turn|image)\s?>|<\s?(?:bos|eos|pad|unk|mask|cls|sep|extra_id_\d+|unused\d+)\s?>",
    re.IGNORECASE,
)
# "Human:" at the beginning of a line speaks for a turn; a wide colon does not, and folds back in quotations.
_TURN: Final = re.compile(
    r"^[ \t]*(?:(?:human|assistant|system|ai|ассистент|система)"
    r"|#{1,6}[ \t]*(?:instructions?|response|system|input))[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
_ENTITY: Final = re.compile(
    rf"&(?:lt|\#0*60|\#x0*3c);(?=\s{{0,3}}/?\s{{0,3}}(?:\||{_OURS}\b))", re.IGNORECASE
)
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_INNER: Final = {"<": "‹", ">": "›", "[": "⟦", "]": "⟧", "|": "¦"}


def neutralise(text: str) -> str:
    """The text with control tokens and fake delimiters made harmless, without HTML comments and invisible
    characters; everything else as it is. Neutralising twice changes nothing more."""
    text = _COMMENT.sub("", visible(text, line_ends=True))
    text = _ENTITY.sub("‹", text)
    plain = skeleton(text)
    pieces: list[str] = []
    position = 0
    for match in _CONTROL.finditer(plain):
        pieces.append(text[position : match.start()])
        pieces.append("".join(map(_harmless, text[match.start() : match.end()], match.group())))
        position = match.end()
    text = "".join((*pieces, text[position:]))
    return _TURN.sub(lambda match: match.group()[:-1] + "：", text)


def _harmless(character: str, plain: str) -> str:
    return _INNER.get(plain, character)
