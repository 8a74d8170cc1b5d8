"""Writes a tiny Qwen3-Reranker checkpoint: the true architecture and tokenizer kind, random weights."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import Qwen3Config, Qwen3ForCausalLM

# As in Qwen3's tokenizer.json: the chat marks are special, the think marks are added but not special.
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
ADDED = ("<think>", "</think>")
WORDS = (
    "yes no Instruct Query Document Judge whether meets requirements based provided Note answer only "
    "the Given a search and dose chest user system assistant доза грудной клетки при исследование"
).split()
# Qwen3's own pre-tokenizer expression.
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# Larger than the usual 0.02, so that two random layers move the last token far enough to spread the scores.
_WEIGHT_STD = 0.3


def write_tiny_reranker(path: Path, *, tied: bool = True, seed: int = 1) -> Path:
    """Two layers, hidden size 64, 4 query and 2 key heads of 16; scores spread over 0.1 to 0.9.

    Args:
        path: directory to make.
        tied: whether lm_head shares the embedding's weights (0.6B, 4B) or has its own (8B).
        seed: of the weights.
    """
    path.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer()
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=40960,
        tie_word_embeddings=tied,
        initializer_range=_WEIGHT_STD,
        bos_token_id=None,
        eos_token_id=tokenizer.token_to_id("<|im_end|>"),
        pad_token_id=tokenizer.token_to_id("<|endoftext|>"),
    )
    model = Qwen3ForCausalLM(config).eval()
    model.save_pretrained(path)
    tokenizer.save(str(path / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "clean_up_tokenization_spaces": False,
        "model_max_length": 131072,
    }
    (path / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return path


def _tokenizer() -> Tokenizer:
    vocabulary = {
        character: index for index, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))
    }
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    merges: dict[tuple[str, str], None] = {}
    for word in itertools.chain((f" {word}" for word in WORDS), WORDS):
        characters = "".join(piece for piece, _ in byte_level.pre_tokenize_str(word))
        for end in range(1, len(characters)):
            merges[(characters[:end], characters[end])] = None
            vocabulary.setdefault(characters[: end + 1], len(vocabulary))
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=list(merges)))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated"), byte_level]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False)
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in SPECIAL])
    tokenizer.add_tokens([AddedToken(token, normalized=False, special=False) for token in ADDED])
    return tokenizer
