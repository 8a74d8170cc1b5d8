"""The `Embedder` over the models `frida` and `frida_tokenizer` of the Triton model repository."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain

import numpy as np
import structlog

from inference_svc.embedders.embedder import (
    EmbeddedSpans,
    EmbeddedTexts,
    EmbedderDescription,
    LateChunked,
    SpannedText,
    TokenizedText,
)
from inference_svc.embedders.triton import answers
from inference_svc.in_order import in_order
from inference_svc.places import Places
from inference_svc.triton_client import TritonClient
from inference_svc.triton_tensors import (
    Answer,
    chunks,
    flag_tensor,
    infer_request,
    integer_tensor,
    text_tensor,
)
from radref.errors import Overloaded, Unavailable

# max_batch_size of the model repository.
MAX_ROWS = 64
QUESTIONS, DOCUMENTS = 1, 2  # priority levels of the model repository
_QUERY_FIELDS = dict.fromkeys(("EMPTY_TEXT", "TEXT_TOO_LONG"), "queries.texts")
_DOCUMENT_FIELDS = dict.fromkeys(("EMPTY_TEXT", "TEXT_TOO_LONG"), "documents.texts")
_TOKENIZE_FIELDS = dict.fromkeys(("EMPTY_TEXT", "TEXT_TOO_LONG"), "texts")

log = structlog.get_logger()


class TritonEmbedder:
    """FRIDA, or another model that the repository serves alike. Belongs to one event loop.

    Args:
        target: "host:port" of Triton's gRPC endpoint.
        model, tokenizer_model: names in the model repository; `model` is also the id.
        timeout: seconds one request to Triton may take, the wait for a place included, > 0; the caller's
            nearer deadline goes before.
        places: requests with questions, and with documents a person waits for.
        document_places: all other requests, so that a knowledge base that is being embedded never stands
            between a question and Triton, where questions go before documents.
        at_once: requests of one call under way at the same time, >= 1; not more than `places` and
            `document_places` take, waiting ones included, or a large call would be refused on an idle system.
        observe_compute: called with the seconds a request to the embedding model took.
    """

    def __init__(
        self,
        target: str,
        *,
        model: str = "frida",
        tokenizer_model: str = "frida_tokenizer",
        timeout: float,
        places: Places,
        document_places: Places,
        at_once: int = 8,
        observe_compute: Callable[[float], None],
    ) -> None:
        self._model, self._tokenizer_model = model, tokenizer_model
        self._places, self._document_places, self._at_once = places, document_places, at_once
        self._client = TritonClient(
            target, backend="embedding", timeout=timeout, observe_compute=observe_compute
        )
        self._description: EmbedderDescription | None = None

    @property
    def id(self) -> str:
        return self._model

    @property
    def description(self) -> EmbedderDescription:
        if self._description is None:
            raise Unavailable("the embedding backend has not answered yet", reason="NOT_READY")
        return self._description

    async def check(self) -> None:
        """One real request to each model, past our own queue. Busy is up, once they have answered at all."""
        try:
            await self._embed_rows(["readiness"], "query", QUESTIONS, None, _QUERY_FIELDS)
            await self._tokenize_rows(["readiness"], False, None)
        except Overloaded:
            if self._description is None:
                raise

    async def close(self) -> None:
        """Waits for what is running; whatever waits or comes later fails with Unavailable."""
        await self._client.close()

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddedTexts:
        return await self._embed(texts, "query", QUESTIONS, self._places, _QUERY_FIELDS)

    async def embed_documents(self, texts: Sequence[str], *, urgent: bool = False) -> EmbeddedTexts:
        priority, places = (QUESTIONS, self._places) if urgent else (DOCUMENTS, self._document_places)
        return await self._embed(texts, "document", priority, places, _DOCUMENT_FIELDS)

    async def embed_spans(self, texts: Sequence[SpannedText]) -> LateChunked:
        calls = [partial(self._embed_spanned, spanned, index) for index, spanned in enumerate(texts)]
        return LateChunked(await in_order(calls, at_once=self._at_once))

    async def tokenize(self, texts: Sequence[str], *, want_offsets: bool) -> list[TokenizedText]:
        calls = [
            partial(self._tokenize_rows, texts[rows.start : rows.stop], want_offsets, self._document_places)
            for rows in _chunks(texts)
        ]
        return list(chain.from_iterable(await in_order(calls, at_once=self._at_once)))

    async def _embed(
        self, given: Sequence[str], kind: str, priority: int, places: Places, fields: Mapping[str, str]
    ) -> EmbeddedTexts:
        calls = [
            partial(self._embed_rows, given[rows.start : rows.stop], kind, priority, places, fields)
            for rows in _chunks(given)
        ]
        parts = await in_order(calls, at_once=self._at_once)
        if not parts:
            known = self.description
            return EmbeddedTexts(np.empty((0, known.dimension), np.float32), [], [], known.fingerprint)
        if len({part.fingerprint for part in parts}) > 1:
            raise Unavailable("the embedding model was replaced during this request; send it again")
        return EmbeddedTexts(
            np.concatenate([part.vectors for part in parts]),
            [count for part in parts for count in part.token_counts],
            [flag for part in parts for flag in part.truncated],
            parts[0].fingerprint,
        )

    async def _embed_rows(
        self, given: Sequence[str], kind: str, priority: int, places: Places | None, fields: Mapping[str, str]
    ) -> EmbeddedTexts:
        rows = len(given)
        request = infer_request(
            self._model,
            [text_tensor("TEXT", given), text_tensor("KIND", [kind] * rows)],
            answers.VECTOR_OUTPUTS,
            priority=priority,
        )
        answer = await self._client.ask(request, places=places, fields=fields)
        known = await self._described_as(answers.fingerprint(answer, (rows, 1)))
        return EmbeddedTexts(
            answers.unit_vectors(answer, (rows, 1), known.dimension),
            answers.token_counts(answer, rows),
            answers.truncated(answer, rows),
            known.fingerprint,
        )

    async def _embed_spanned(self, spanned: SpannedText, index: int) -> EmbeddedSpans:
        field = f"spans.texts[{index}]"
        request = infer_request(
            self._model,
            [
                text_tensor("TEXT", [spanned.text]),
                text_tensor("KIND", ["document"]),
                integer_tensor("SPANS", list(chain.from_iterable(spanned.spans))),
            ],
            answers.VECTOR_OUTPUTS,
            priority=DOCUMENTS,
        )
        answer = await self._client.ask(
            request,
            places=self._document_places,
            fields={
                "INVALID_SPAN": f"{field}.spans",
                "EMPTY_TEXT": f"{field}.text",
                "TEXT_TOO_LONG": f"{field}.text",
            },
        )
        known = await self._described_as(answers.fingerprint(answer, (1, 1)))
        vectors = answers.unit_vectors(answer, (1, len(spanned.spans)), known.dimension)
        (count,) = answers.token_counts(answer, 1)
        if answers.truncated(answer, 1) != [False]:
            raise answer.nonsense("a text with spans was truncated")
        return EmbeddedSpans(vectors, count, known.fingerprint)

    async def _tokenize_rows(
        self, given: Sequence[str], want_offsets: bool, places: Places | None
    ) -> list[TokenizedText]:
        outputs = ("COUNT", "FINGERPRINT", *(("OFFSETS",) if want_offsets else ()))
        answer = await self._ask_tokenizer(given, want_offsets, outputs, places)
        # Callers read the overhead from the description, so it has to be this tokenizer's.
        await self._described_as(answers.fingerprint(answer, (1,)))
        return answers.tokenized(answer, given, want_offsets=want_offsets)

    async def _ask_tokenizer(
        self, given: Sequence[str], want_offsets: bool, outputs: Sequence[str], places: Places | None
    ) -> Answer:
        inputs = [text_tensor("TEXT", given, column=False), flag_tensor("WANT_OFFSETS", want_offsets)]
        request = infer_request(self._tokenizer_model, inputs, outputs)
        return await self._client.ask(request, places=places, fields=_TOKENIZE_FIELDS, observed=False)

    async def _described_as(self, fingerprint: str) -> EmbedderDescription:
        """The description that belongs to an answer; asked for anew when the weights were replaced.

        Raises:
            Unavailable: the two models on the server differ, for ever or while they are being replaced.
        """
        known = self._description
        if known is None or known.fingerprint != fingerprint:
            known = self._description = await self._describe()
        if known.fingerprint != fingerprint:
            raise Unavailable(
                f"{self._model} and {self._tokenizer_model} are made of different weights ({fingerprint}, "
                f"{known.fingerprint}): they are being replaced, or were loaded from different directories",
                metadata={"backend": "embedding"},
            )
        return known

    async def _describe(self) -> EmbedderDescription:
        answer = await self._ask_tokenizer(["readiness"], False, answers.DESCRIPTION_OUTPUTS, None)
        found = answers.description(answer, self._model)
        log.info("embedding model described", model=found.id, fingerprint=found.fingerprint)
        return found


def _chunks(given: Sequence[str]) -> list[range]:
    # Four bytes hold any code point in UTF-8, so this bounds the message without encoding the text twice.
    return chunks([4 * len(text) for text in given], rows=MAX_ROWS)
