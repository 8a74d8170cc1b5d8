"""The `Reranker` over the model `qwen3_reranker` of the Triton model repository."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from inference_svc.in_order import in_order
from inference_svc.places import Places
from inference_svc.rerankers.reranker import RerankedDocuments, RerankerDescription
from inference_svc.triton_client import TritonClient
from inference_svc.triton_tensors import chunks, infer_request, text_tensor
from radref.errors import Overloaded, Unavailable

# max_batch_size of the model repository.
MAX_ROWS = 64
_OUTPUTS = ("SCORE", "TRUNCATED", "FINGERPRINT", "WINDOW")
# Documents are cut where they are too long, so only the question can be.
_FIELDS = {"TEXT_TOO_LONG": "query"}
_HEX16 = re.compile(r"[0-9a-f]{16}")


class TritonReranker:
    """Qwen3-Reranker, or another model that the repository serves alike. Belongs to one event loop.

    Args:
        target: "host:port" of Triton's gRPC endpoint.
        model: name in the model repository, also the id.
        instruction: what counts as relevant, one sentence; part of the fingerprint.
        timeout: seconds one request to Triton may take, the wait for a place included, > 0; the caller's
            nearer deadline goes before.
        places: bounds the requests.
        at_once: requests of one call under way at the same time, >= 1; not more than `places` take, waiting
            ones included. 256 documents are four requests.
        observe_compute: called with the seconds a request took.
    """

    def __init__(
        self,
        target: str,
        *,
        model: str = "qwen3_reranker",
        instruction: str,
        timeout: float,
        places: Places,
        at_once: int = 4,
        observe_compute: Callable[[float], None],
    ) -> None:
        self._model, self._instruction = model, instruction
        self._places, self._at_once = places, at_once
        self._client = TritonClient(
            target, backend="reranking", timeout=timeout, observe_compute=observe_compute
        )
        self._description: RerankerDescription | None = None

    @property
    def id(self) -> str:
        return self._model

    @property
    def description(self) -> RerankerDescription:
        if self._description is None:
            raise Unavailable("the reranking backend has not answered yet", reason="NOT_READY")
        return self._description

    async def check(self) -> None:
        """One real request, past our own queue. Busy is up, once it has answered at all."""
        try:
            await self._rerank_rows("readiness", ["readiness"], None)
        except Overloaded:
            if self._description is None:
                raise

    async def close(self) -> None:
        """Waits for what is running; whatever waits or comes later fails with Unavailable."""
        await self._client.close()

    async def rerank(self, query: str, documents: Sequence[str]) -> RerankedDocuments:
        # The query travels with each document. Four bytes hold any code point in UTF-8.
        sizes = [4 * (len(query) + len(document)) for document in documents]
        calls = [
            partial(self._rerank_rows, query, documents[rows.start : rows.stop], self._places)
            for rows in chunks(sizes, rows=MAX_ROWS)
        ]
        parts = await in_order(calls, at_once=self._at_once)
        if not parts:
            return RerankedDocuments([], [], self.description.fingerprint)
        if len({part.fingerprint for part in parts}) > 1:
            raise Unavailable("the reranking model was replaced during this request; send it again")
        return RerankedDocuments(
            [score for part in parts for score in part.scores],
            [flag for part in parts for flag in part.truncated],
            parts[0].fingerprint,
        )

    async def _rerank_rows(
        self, query: str, documents: Sequence[str], places: Places | None
    ) -> RerankedDocuments:
        rows = len(documents)
        request = infer_request(
            self._model,
            [
                text_tensor("QUERY", [query] * rows),
                text_tensor("DOCUMENT", documents),
                text_tensor("INSTRUCTION", [self._instruction] * rows),
            ],
            _OUTPUTS,
        )
        answer = await self._client.ask(request, places=places, fields=_FIELDS)
        scores = answer.floats("SCORE", (rows, 1))[:, 0]
        # A comparison with NaN is false, so this also finds scores that are not finite.
        if not ((scores >= 0) & (scores <= 1)).all():
            raise answer.nonsense("scores that are not between 0 and 1")
        truncated = answer.flags("TRUNCATED", (rows, 1))[:, 0]
        windows = set(answer.integers("WINDOW", (rows, 1))[:, 0].tolist())
        prints = set(answer.texts("FINGERPRINT", (rows, 1)))
        if len(prints) != 1 or len(windows) != 1:
            raise answer.nonsense("its rows come from different models")
        weights, window = prints.pop(), windows.pop()
        if _HEX16.fullmatch(weights) is None:
            raise answer.nonsense("FINGERPRINT is not 16 hexadecimal digits")
        if window < 1:
            raise answer.nonsense(f"WINDOW is {window}")
        found = RerankerDescription(
            id=self._model,
            backend="triton",
            fingerprint=fingerprint(weights, self._instruction),
            window=window,
        )
        self._description = found
        return RerankedDocuments(scores.astype(np.float64).tolist(), truncated.tolist(), found.fingerprint)


def fingerprint(weights: str, instruction: str) -> str:
    """16 hexadecimal digits over the backend's own (weights, tokenizer, template) and the instruction."""
    return hashlib.sha256(f"{weights}\n{instruction}".encode()).hexdigest()[:16]
