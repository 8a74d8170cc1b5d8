"""Writes tiny checkpoints of the true architectures: Qwen3-MoE to generate, Qwen3 to rerank.

    python -m tests.vllm.tiny_checkpoints DIRECTORY

makes DIRECTORY/generator and DIRECTORY/reranker; run it with the interpreter that serves vLLM. Weights come
from fixed seeds. The generator's two outer matrices are laid out so that what it writes can be foreseen
whatever the rounding: see `_foreseeable`.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import torch
from transformers import (
    GenerationConfig,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)

from tests.vllm.tiny_tokenizer import tiny_tokenizer

HIDDEN = 256
WINDOW = 4096
# What the generator repeats where nothing else is said; the quotation mark ends a JSON string.
SENTENCE = ' Доза при КТ около 7 мЗв. The dose is about 7 mSv."'


def generator(tokenizer: PreTrainedTokenizerFast) -> Qwen3MoeForCausalLM:
    """Mixture of experts, grouped queries, normalised queries and keys, untied head: as Qwen3-30B-A3B."""
    torch.manual_seed(20_250_507)
    model = Qwen3MoeForCausalLM(
        Qwen3MoeConfig(
            vocab_size=len(tokenizer),
            hidden_size=HIDDEN,
            intermediate_size=256,
            moe_intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=32,
            num_experts=8,
            num_experts_per_tok=2,
            norm_topk_prob=True,
            max_position_embeddings=WINDOW,
            rope_theta=1_000_000.0,
            tie_word_embeddings=False,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    _foreseeable(model, tokenizer)
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    return model


def _foreseeable(model: Qwen3MoeForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    """SENTENCE follows every token, again and again; but a line break, which ends the prompt unless thinking
    is off, is followed by an opening think tag. Where a grammar forbids that, closing brackets win.

    A token's vector points where its successor's row in the head points. Attention and experts add their
    random share, far too little to change the order. One more dimension, the same for every token, acts as
    the bias that Qwen3's head lacks. The end token is never chosen freely: free text runs into its limit.
    """
    count = len(tokenizer)
    # A token can have one successor only: it stays where it stands first.
    sentence = list(dict.fromkeys(tokenizer.encode(SENTENCE)))
    follows = torch.full((count,), sentence[0])
    for token, successor in itertools.pairwise(sentence):
        follows[token] = successor

    def one(text: str) -> int:
        (token,) = tokenizer.encode(text)
        return int(token)

    follows[one("\n")] = one("<think>")
    follows[one("[")], follows[one("{")], follows[one("}")] = one("{"), one('"'), one("]")
    bias = torch.zeros(count)
    for text in tokenizer.get_vocab():
        token = tokenizer.convert_tokens_to_ids(text)
        written = tokenizer.decode([token])
        if not written.strip():
            bias[token] = -6.0
        elif written[0] in ']}",:' or written in ("false", "f"):
            bias[token] = 3.0
    bias[tokenizer.eos_token_id] = -6.0
    with torch.no_grad():
        directions = torch.nn.functional.normalize(torch.randn(count, HIDDEN - 1), dim=1)
        # The final norm makes vectors of length sqrt(HIDDEN), half of the square in the bias dimension.
        level = (HIDDEN / 2) ** 0.5
        head = torch.zeros(count, HIDDEN)
        head[:, 0] = bias / level
        head[:, 1:] = directions
        model.lm_head.weight.copy_(head)
        embeddings = torch.zeros(count, HIDDEN)
        embeddings[:, 0] = 1.0
        embeddings[:, 1:] = directions[follows]
        model.model.embed_tokens.weight.copy_(embeddings)


def reranker(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """Dense, with a tied head: as Qwen3-Reranker-0.6B. Large random weights, so that scores differ."""
    torch.manual_seed(20_250_605)
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=128,
            intermediate_size=256,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=32,
            initializer_range=0.2,
            max_position_embeddings=WINDOW,
            rope_theta=1_000_000.0,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def main(directory: Path) -> None:
    torch.set_num_threads(1)
    tokenizer = tiny_tokenizer()
    for name, model in (("generator", generator(tokenizer)), ("reranker", reranker(tokenizer))):
        model.to(torch.float32).save_pretrained(directory / name)
        tokenizer.save_pretrained(directory / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
