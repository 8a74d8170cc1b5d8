"""A small byte-level BPE tokenizer with Qwen3's special tokens, pre-tokenizer and chat template.

Runs with the interpreter that serves vLLM.
"""

from __future__ import annotations

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

# Order and flags as in Qwen3's tokenizer: the think tags are ordinary added tokens, so a server prints them.
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
THINK = ("<think>", "</think>")

# Qwen's pre-tokenizer: it keeps "\n\n" together, which ends the prompt when thinking is off.
_PIECES = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# What Qwen3's template does with system and user messages and `enable_thinking`; tools are left out.
CHAT_TEMPLATE = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}"
    "{{- '<|im_start|>assistant\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}"
    "{{- '<think>\n\n</think>\n\n' }}"
    "{%- endif %}"
    "{%- endif %}"
)

CORPUS = (
    "system\nAnswer only from the context. Отвечай только по контексту.\n\n",
    "user\nWhat is the effective dose of a chest CT? Какова доза при КТ грудной клетки?\n\n",
    "assistant\nThe effective dose is about 7 mSv. Доза при КТ около 7 мЗв.\n\n",
    '{"analysis":"dose","insufficient":false,"missing":"","conflicts":[],"statements":[{"text":"доза",'
    '"citations":[{"id":"c1","quote":"доза при КТ"}]}]}',
    'Judge whether the Document meets the requirements. The answer can only be "yes" or "no".\n\n',
    "<Instruct>: \n<Query>: \n<Document>: \nyes\nno\nyes\nno\n",
)


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """About 600 tokens; "yes", "no" and an empty line are one token each."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        min_frequency=2,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS * 4, trainer)
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=131_072,
        clean_up_tokenization_spaces=False,
    )
    wrapped.add_tokens(list(THINK))
    wrapped.chat_template = CHAT_TEMPLATE
    for single in ("yes", "no", "\n\n", "\n", '"', *SPECIAL, *THINK):
        assert len(wrapped.encode(single)) == 1, single
    return wrapped
