"""The extractive generator behind the `Generator` interface, fed by an embedder."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Sequence

import numpy as np
from numpy.typing import NDArray

from inference_svc.embedders.embedder import Embedder
from inference_svc.generators.extractive import Embedding, ExtractiveGenerator
from inference_svc.generators.generator import (
    Delta,
    Finish,
    GenerationInput,
    GeneratorDescription,
    Summary,
)


class QuotingGenerator:
    """Answers from `query` and `passages`; messages, schema and token limit are for language models.

    Its output follows the gateway's answer schema whatever schema is asked for.

    Args:
        embedder: compares the question with pieces of the passages.
    """

    def __init__(self, embedder: Embedder) -> None:
        async def query(text: str) -> NDArray[np.float32]:
            vector: NDArray[np.float32] = (await embedder.embed_queries([text])).vectors[0]
            return vector

        async def texts(pieces: Sequence[str]) -> NDArray[np.float32]:
            return (await embedder.embed_documents(pieces, urgent=True)).vectors

        self._extractive = ExtractiveGenerator(Embedding(query, texts))
        self._embedder = embedder

    @property
    def id(self) -> str:
        return "extractive"

    @property
    def description(self) -> GeneratorDescription:
        # Which piece is quoted depends on the vectors as well; a remote embedder tells its fingerprint late.
        parts = f"{ExtractiveGenerator.version}\n{self._embedder.description.fingerprint}"
        return GeneratorDescription(
            id=self.id,
            backend="extractive",
            fingerprint=hashlib.sha256(parts.encode("utf-8")).hexdigest()[:16],
            window=0,
        )

    async def check(self) -> None:
        """Nothing of its own can be down."""

    async def close(self) -> None:
        """Nothing to close: the embedder is closed by its owner."""

    async def generate(self, request: GenerationInput) -> AsyncGenerator[Delta | Summary, None]:
        yield Delta(await self._extractive.generate(request.query, request.passages))
        yield Summary(Finish.STOP, prompt_tokens=0, completion_tokens=0)
