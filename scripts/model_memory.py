"""GPU memory of the production models, computed from their shapes (not measured).

    python scripts/model_memory.py

Weights = parameters x bytes. Working memory = the largest intermediate tensors of one forward pass at the
batch size of the model repository; a CUDA context takes about 0.5 GB more a process. KV cache = 2 x layers
x key-value heads x head dimension x bytes a token. Shapes are those of the published config.json files:
ai-forever/FRIDA, Qwen/Qwen3-Reranker-0.6B, Qwen/Qwen3-30B-A3B.
"""

from __future__ import annotations

from dataclasses import dataclass

GB = 1e9
BF16, FP8, INT4 = 2.0, 1.0, 0.5


@dataclass(frozen=True)
class T5Encoder:
    """Encoder half of a T5 v1.1 (gated feed-forward: three matrices)."""

    vocabulary: int = 93_651
    layers: int = 24
    hidden: int = 1_536
    heads: int = 24
    head_dimension: int = 64
    inner: int = 4_096
    window: int = 512

    def parameters(self) -> int:
        attention = 4 * self.hidden * self.heads * self.head_dimension
        feed_forward = 3 * self.hidden * self.inner
        return self.vocabulary * self.hidden + self.layers * (attention + feed_forward)

    def working_bytes(self, batch_tokens: int) -> float:
        # T5 adds a position bias, so scores are written out: once in 16 bit, once in fp32 for the softmax.
        scores = batch_tokens * self.window * self.heads * (2 + 4)
        return scores + batch_tokens * (4 * self.hidden + 2 * self.inner) * BF16


@dataclass(frozen=True)
class Qwen3:
    """Qwen3, dense (experts = 1) or mixture of experts."""

    vocabulary: int
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dimension: int
    inner: int
    experts: int
    tied: bool

    def parameters(self) -> int:
        attention = self.hidden * self.head_dimension * (2 * self.heads + 2 * self.kv_heads)
        feed_forward = self.experts * 3 * self.hidden * self.inner
        router = self.hidden * self.experts if self.experts > 1 else 0
        embeddings = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return embeddings + self.layers * (attention + feed_forward + router)

    def kv_bytes_per_token(self) -> float:
        return 2 * self.layers * self.kv_heads * self.head_dimension * BF16

    def working_bytes(self, batch_tokens: int) -> float:
        # Fused attention keeps no scores; hidden states, queries, both halves of the feed-forward remain.
        width = 4 * self.hidden + 2 * self.heads * self.head_dimension + 3 * self.inner
        return batch_tokens * width * BF16


FRIDA = T5Encoder()
RERANKER = Qwen3(151_669, 28, 1_024, 16, 8, 128, 3_072, experts=1, tied=True)
GENERATOR = Qwen3(151_936, 48, 2_048, 32, 4, 128, 768, experts=128, tied=False)
BATCH_TOKENS = 16_384


def main() -> None:
    frida, reranker, generator = FRIDA.parameters(), RERANKER.parameters(), GENERATOR.parameters()
    print(f"FRIDA              {frida / 1e6:8.0f} M  bf16 {frida * BF16 / GB:5.2f} GB")
    print(f"  working, {BATCH_TOKENS} tokens a batch      {FRIDA.working_bytes(BATCH_TOKENS) / GB:5.2f} GB")
    print(f"Qwen3-Reranker     {reranker / 1e6:8.0f} M  bf16 {reranker * BF16 / GB:5.2f} GB")
    print(
        f"  working, {BATCH_TOKENS} tokens a batch      {RERANKER.working_bytes(BATCH_TOKENS) / GB:5.2f} GB"
    )
    print(
        f"Qwen3-30B-A3B      {generator / 1e6:8.0f} M  bf16 {generator * BF16 / GB:5.2f} GB"
        f"  fp8 {generator * FP8 / GB:5.2f} GB  int4 {generator * INT4 / GB:5.2f} GB"
    )
    kv = GENERATOR.kv_bytes_per_token()
    print(f"  KV cache {kv:.0f} bytes a token: {kv * 32_768 / GB:.2f} GB for 32,768 tokens")


if __name__ == "__main__":
    main()
