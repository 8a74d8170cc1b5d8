"""What Qwen3-Reranker's model card computes, one pair at a time, without padding, batches or servers.

    python -m tests.vllm.reranker_reference CHECKPOINT

reads lines, each a JSON list of {"instruction", "query", "document"}, and answers each with a line: a list
with the list of scores of each pair. A pair may also hold "tokens": it then stands for every start of the
document with which the whole prompt has that many tokens, and yields a score for each. Run it with the
interpreter that serves vLLM. Template and score are those of the model card of Qwen/Qwen3-Reranker-0.6B,
written down once more.
"""

from __future__ import annotations

import bisect
import json
import sys
from collections.abc import Iterator

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

PREFIX = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the "
    'Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
)
SUFFIX = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


class Reference:
    """A checkpoint as transformers loads it, in float32."""

    def __init__(self, checkpoint: str) -> None:
        self._tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        self._model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
        self._no_yes = self._tokenizer.convert_tokens_to_ids(["no", "yes"])

    def score(self, pair: dict[str, str], document: str) -> float:
        """Probability of "yes" against "no"."""
        with torch.no_grad():
            logits = self._model(torch.tensor([self._ids(pair, document)])).logits[0, -1]
        return float(torch.softmax(logits[self._no_yes], dim=0)[1])

    def starts(self, pair: dict[str, str], tokens: int) -> Iterator[str]:
        """Starts of the document with which the prompt has so many tokens."""
        document = pair["document"]

        def count(length: int) -> int:
            return len(self._ids(pair, document[:length]))

        length = bisect.bisect_left(range(len(document)), tokens, key=count)
        while length < len(document) and count(length) == tokens:
            yield document[:length]
            length += 1

    def _ids(self, pair: dict[str, str], document: str) -> list[int]:
        body = f"<Instruct>: {pair['instruction']}\n<Query>: {pair['query']}\n<Document>: {document}"
        ids: list[int] = self._tokenizer(PREFIX + body + SUFFIX)["input_ids"]
        return ids


def main(checkpoint: str) -> None:
    torch.set_num_threads(1)
    reference = Reference(checkpoint)
    for line in sys.stdin:
        scores = []
        for pair in json.loads(line):
            documents = reference.starts(pair, pair["tokens"]) if "tokens" in pair else [pair["document"]]
            scores.append([reference.score(pair, document) for document in documents])
        print(json.dumps(scores), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
