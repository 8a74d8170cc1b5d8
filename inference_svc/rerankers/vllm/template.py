"""Query and documents as a cross-encoder behind vLLM was trained to read them."""

from __future__ import annotations

import re
from enum import Enum

# Model card of Qwen/Qwen3-Reranker-0.6B; the same as in inference_svc.triton, which needs libraries that a
# site with vLLM does not.
PREFIX = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the "
    'Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
)
HEAD = "<Instruct>: {instruction}\n<Query>: {query}\n<Document>: "
SUFFIX = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"

# vLLM tokenises template and text together: a document that holds a control token must not be able to speak
# as the template. Markers of the Qwen, Llama, Mistral, Gemma, DeepSeek, BERT and RoBERTa families.
_CONTROL = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|<｜[^｜<>\n]{1,40}｜>"
    r"|</?(?:think|tool_call|tool_response|s)>|<(?:bos|eos|pad|unk|mask|cls|sep)>"
    r"|\[/?(?:INST|SYS|THINK|CLS|SEP|PAD|UNK|MASK)\]|<(?:start|end)_of_turn>",
    re.IGNORECASE,
)
_INNER = str.maketrans({"<": "‹", ">": "›", "[": "⟦", "]": "⟧"})


class Template(Enum):
    """Who puts query and document into the model's template.

    CLIENT: this side, with that of Qwen3-Reranker; for servers started without a chat template.
    SERVER: the server (--chat-template), or the model needs none (bge-reranker and other cross-encoders).
    """

    CLIENT = "client"
    SERVER = "server"


def harmless(text: str) -> str:
    """The text with control tokens made look-alikes; as long as before, everything else untouched."""
    return _CONTROL.sub(lambda match: match.group().translate(_INNER), text)


def query_text(template: Template, query: str, instruction: str) -> str:
    """What is sent as query. vLLM puts it right before the document, with nothing between."""
    if template is Template.SERVER:
        return query
    return PREFIX + HEAD.format(instruction=instruction, query=query)


def document_text(template: Template, document: str) -> str:
    """What is sent as document."""
    return document if template is Template.SERVER else document + SUFFIX


def template_text(template: Template) -> str:
    """What of the template is this side's, for a fingerprint."""
    return PREFIX + HEAD + SUFFIX if template is Template.CLIENT else ""
