"""The model card's code for Qwen3-Reranker, one pair at a time with the logits of the whole vocabulary."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import AutoTokenizer, Qwen3ForCausalLM

PREFIX = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the "
    'Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
)
SUFFIX = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


class ReferenceReranker:
    """Scores as https://huggingface.co/Qwen/Qwen3-Reranker-0.6B shows it."""

    def __init__(self, path: Path, max_length: int = 8192) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left")
        self.model = Qwen3ForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
        self.max_length = max_length
        self.prefix_tokens = self.tokenizer.encode(PREFIX, add_special_tokens=False)
        self.suffix_tokens = self.tokenizer.encode(SUFFIX, add_special_tokens=False)

    def ids(self, query: str, document: str, instruction: str) -> list[int]:
        body = f"<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}"
        inputs = self.tokenizer(
            [body],
            padding=False,
            truncation="longest_first",
            return_attention_mask=False,
            max_length=self.max_length - len(self.prefix_tokens) - len(self.suffix_tokens),
        )
        return list(self.prefix_tokens + inputs["input_ids"][0] + self.suffix_tokens)

    def score(self, query: str, document: str, instruction: str) -> float:
        return self.score_ids(self.ids(query, document, instruction))

    def score_ids(self, ids: list[int]) -> float:
        with torch.no_grad():
            logits = self.model(input_ids=torch.tensor([ids])).logits[:, -1, :]
        true_vector = logits[:, self.tokenizer.convert_tokens_to_ids("yes")]
        false_vector = logits[:, self.tokenizer.convert_tokens_to_ids("no")]
        stacked = torch.nn.functional.log_softmax(torch.stack([false_vector, true_vector], dim=1), dim=1)
        return float(stacked[:, 1].exp().item())
