"""Writes a tiny FRIDA: the true architecture and tokenizer kind, random weights."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import T5Config, T5EncoderModel

DIMENSION = 64
SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
SENTENCES = (
    "search_query: What is the effective dose of a chest radiograph? search_document: The dose is 0.1 mSv.",
    "search_query: Какова эффективная доза при КТ грудной клетки? search_document: Доза составляет 7 мЗв.",
    "The quality of a CT scanner is checked once a year; the radiologist reads the images.",
    "Контроль качества томографа проводят раз в год; рентгенолог описывает снимки.",
)


def write_tiny_frida(
    path: Path, *, seed: int = 0, shard_size: str = "1GB", dtype: torch.dtype = torch.float32
) -> Path:
    """Two layers, d_model 64, gated GELU, relative positions, a byte-level BPE of 600 pieces.

    Args:
        path: directory to make.
        seed: of the weights.
        shard_size: of the weight files, e.g. "100KB" for several.
        dtype: of the stored weights.
    """
    path.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer()
    torch.manual_seed(seed)
    config = T5Config(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=DIMENSION,
        d_kv=16,
        d_ff=128,
        num_layers=2,
        num_heads=4,
        feed_forward_proj="gated-gelu",
        is_encoder_decoder=False,
        use_cache=False,
        tie_word_embeddings=False,
        pad_token_id=0,
        eos_token_id=2,
    )
    T5EncoderModel(config).to(dtype).save_pretrained(path, max_shard_size=shard_size)
    tokenizer.save(str(path / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "clean_up_tokenization_spaces": False,
        "model_max_length": 512,
    }
    (path / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return path


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=list(SPECIAL), initial_alphabet=alphabet)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    # Published files often carry these; they must not cut or pad anything.
    tokenizer.enable_truncation(512)
    tokenizer.enable_padding(pad_id=0, pad_token="<pad>")
    return tokenizer
