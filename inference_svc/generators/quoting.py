"""The extractive generator behind the `Generator` interface, fed by an embedder."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Sequence

import numpy as np
from numpy.typing import NDArray

from inference_svc.embedders.embedder import Embedder
from inference_svc.generators.extractive import Embedding, ExtractiveGenerator, SelectionPolicy
from inference_svc.generators.generator import (
    Delta,
    Finish,
    GenerationInput,
    GeneratorDescription,
    Summary,
)
from radref.errors import PreconditionFailed


class QuotingGenerator:
    """Answers from `query` and `passages`; messages, schema and token limit are for language models.

    Its output follows the gateway's answer schema whatever schema is asked for.

    Args:
        embedder: compares the question with pieces of the passages.
        policy: what is chosen; its cosines belong to one embedder.
        fitted_fingerprint: of that embedder; with another one nothing is answered.
    """

    def __init__(self, embedder: Embedder, policy: SelectionPolicy, fitted_fingerprint: str) -> None:
        async def query(text: str) -> NDArray[np.float32]:
            vector: NDArray[np.float32] = (await embedder.embed_queries([text])).vectors[0]
            return vector

        async def texts(pieces: Sequence[str]) -> NDArray[np.float32]:
            return (await embedder.embed_documents(pieces, urgent=True)).vectors

        self._extractive = ExtractiveGenerator(Embedding(query, texts), policy)
        self._embedder = embedder
        self._policy = policy
        self._fitted_fingerprint = fitted_fingerprint

    @property
    def id(self) -> str:
        return "extractive"

    @property
    def description(self) -> GeneratorDescription:
        # Which piece is quoted depends on the vectors as well; a remote embedder tells its fingerprint late.
        parts = f"{ExtractiveGenerator.version}\n{self._policy}\n{self._embedder.description.fingerprint}"
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
        """See `Generator`.

        Raises:
            PreconditionFailed: GATE_NOT_CALIBRATED, the thresholds were fitted on another embedder.
        """
        in_use = self._embedder.description.fingerprint
        if in_use != self._fitted_fingerprint:
            raise PreconditionFailed(
                "the extractive generator was not fitted for the embedding model in use: set min_cosine, "
                "min_cosine_further and embedder_fingerprint of the generator before answering questions",
                reason="GATE_NOT_CALIBRATED",
                metadata={"fitted": self._fitted_fingerprint, "in_use": in_use},
            )
        yield Delta(await self._extractive.generate(request.query, request.passages))
        yield Summary(Finish.STOP, prompt_tokens=0, completion_tokens=0)
