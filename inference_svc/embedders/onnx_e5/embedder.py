"""multilingual-e5-small on the CPU: prefixes, mean pooling, late chunking, bounded queues."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from inference_svc.embedders.embedder import (
    EmbeddedSpans,
    EmbeddedTexts,
    EmbedderDescription,
    SpannedText,
    TokenizedText,
)
from inference_svc.embedders.lanes import EncoderLanes, Job, Lane, closed
from inference_svc.embedders.onnx_e5.batches import length_sorted_batches
from inference_svc.embedders.onnx_e5.cache import ConvertedModel, converted_model
from inference_svc.embedders.onnx_e5.encoder import E5Encoder, unit
from inference_svc.embedders.onnx_e5.tokenizer import DOCUMENT_PREFIX, QUERY_PREFIX, E5Tokenizer
from inference_svc.embedders.onnx_e5.tokenizer_json import PIPELINE
from inference_svc.embedders.onnx_e5.windows import SpanSums, Window, token_ranges, windows
from radref.errors import Overloaded

P = ParamSpec("P")
T = TypeVar("T")

MODEL_ID = "multilingual-e5-small"
# Mean over all tokens of the attention mask, then L2 norm, as the e5 authors pool (Wang et al. 2024,
# arXiv:2402.05672). Part of the fingerprint, like the arithmetic.
POOLING = "mean,l2,fp32"
# Half a window (DEPENDENCIES.md): every token has at least a quarter of a window of context on both sides.
LATE_CHUNK_STRIDE = 256


@dataclass(frozen=True, slots=True)
class _LateChunks:
    """The jobs of one text, the sums they fill, and the text's tokens with prefix and special tokens."""

    jobs: Sequence[Job[None]]
    sums: SpanSums
    token_count: int


class OnnxE5Embedder:
    """The `Embedder` of the embedded default. Belongs to one event loop.

    Args:
        tokenizer, encoder, model: of one converted model.
        lanes: its queue, closed with it.
        batch_tokens: padded tokens of a batch of short texts; a question waits for at most one batch.
    """

    def __init__(
        self,
        tokenizer: E5Tokenizer,
        encoder: E5Encoder,
        model: ConvertedModel,
        lanes: EncoderLanes,
        *,
        batch_tokens: int,
    ) -> None:
        manifest = model.manifest
        self._tokenizer, self._encoder, self._lanes = tokenizer, encoder, lanes
        self._bos, self._eos = np.array([manifest.bos]), np.array([manifest.eos])
        self._batch_tokens = batch_tokens
        self._closed = False
        # A thread for each line: a book that is being tokenised must not hold up a question.
        self._tokenizing = {lane: ThreadPoolExecutor(1, f"tokenize-{lane.value}") for lane in Lane}
        self._description = EmbedderDescription(
            id=MODEL_ID,
            backend="onnx",
            fingerprint=fingerprint(manifest.source_sha256),
            dimension=manifest.dimension,
            window=manifest.window,
            query_prefix=QUERY_PREFIX,
            document_prefix=DOCUMENT_PREFIX,
            document_overhead=tokenizer.prefix_tokens[DOCUMENT_PREFIX] + 2,
            tokenizer=hashlib.sha256(f"{manifest.source_sha256}\n{PIPELINE}".encode()).hexdigest()[:16],
        )

    @classmethod
    def load(
        cls,
        cache_dir: Path,
        weights_path: Path | None,
        *,
        threads: int,
        spinning: bool,
        batch_tokens: int,
        lanes: EncoderLanes,
    ) -> Self:
        """Loads the converted model, converting it first where need be. Blocks for one or more seconds.

        Raises:
            Unavailable, Internal: see `converted_model`.
        """
        model = converted_model(cache_dir, weights_path)
        encoder = E5Encoder(model.encoder, threads=threads, spinning=spinning, pad=model.manifest.pad)
        return cls(E5Tokenizer(model.tokenizer), encoder, model, lanes, batch_tokens=batch_tokens)

    @property
    def id(self) -> str:
        return MODEL_ID

    @property
    def description(self) -> EmbedderDescription:
        return self._description

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddedTexts:
        return await self._embed(QUERY_PREFIX, texts, Lane.QUESTION)

    async def embed_documents(self, texts: Sequence[str], *, urgent: bool = False) -> EmbeddedTexts:
        return await self._embed(DOCUMENT_PREFIX, texts, Lane.QUESTION if urgent else Lane.DOCUMENT)

    async def embed_spans(self, texts: Sequence[SpannedText]) -> list[EmbeddedSpans]:
        planned = [
            await self._tokenized(Lane.DOCUMENT, self._plan, spanned, index)
            for index, spanned in enumerate(texts)
        ]
        await self._lanes.run(Lane.DOCUMENT, [job for late in planned for job in late.jobs])
        own = self._description.fingerprint
        return [EmbeddedSpans(unit(late.sums.means()), late.token_count, own) for late in planned]

    async def tokenize(self, texts: Sequence[str], *, want_offsets: bool) -> list[TokenizedText]:
        if not want_offsets:
            counts = await self._tokenized(Lane.DOCUMENT, self._tokenizer.count, texts)
            return [TokenizedText(count, None) for count in counts]
        found = []
        for text in texts:
            _, offsets = await self._tokenized(Lane.DOCUMENT, self._tokenizer.ids_with_offsets, text)
            found.append(TokenizedText(len(offsets), offsets))
        return found

    async def check(self) -> None:
        with suppress(Overloaded):  # busy is up
            await self.embed_queries(["readiness"])

    async def close(self) -> None:
        """Waits for what is running; whatever waits or comes later fails with Unavailable."""
        self._closed = True
        await self._lanes.close()
        for executor in self._tokenizing.values():
            await asyncio.to_thread(executor.shutdown)

    async def _tokenized(self, lane: Lane, tokenize: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._closed:
            raise closed()
        call = partial(tokenize, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._tokenizing[lane], call)

    async def _embed(self, prefix: str, texts: Sequence[str], lane: Lane) -> EmbeddedTexts:
        content = await self._tokenized(lane, self._tokenizer.ids, prefix, texts)
        room = self._description.window - 2
        sequences = [self._with_specials(ids[:room]) for ids in content]
        batches = length_sorted_batches([len(sequence) for sequence in sequences], self._batch_tokens)
        pooled = await self._lanes.run(lane, [self._pooling_job(sequences, batch) for batch in batches])
        vectors = np.empty((len(texts), self._description.dimension), np.float32)
        for batch, rows in zip(batches, pooled, strict=True):
            vectors[batch] = rows
        return EmbeddedTexts(
            vectors,
            [len(ids) + 2 for ids in content],
            [len(ids) > room for ids in content],
            self._description.fingerprint,
        )

    def _plan(self, spanned: SpannedText, index: int) -> _LateChunks:
        ids, offsets = self._tokenizer.ids_with_offsets(spanned.text)
        own = self._tokenizer.prefix_tokens[DOCUMENT_PREFIX]
        prefix, content = ids[:own], ids[own:]
        sums = SpanSums(token_ranges(offsets, spanned.spans, index), self._description.dimension)

        def encode(window: Window) -> None:
            sequence = self._with_specials(np.concatenate([prefix, content[window.start : window.end]]))
            (vectors,) = self._encoder.token_vectors([sequence])
            shift = 1 + own - window.start  # from a token of the text to its row among the vectors
            sums.add(window.own_start, vectors[window.own_start + shift : window.own_end + shift])

        capacity = self._description.window - self._description.document_overhead
        jobs = [
            Job(window.end - window.start, partial(encode, window))
            for window in windows(len(content), capacity, LATE_CHUNK_STRIDE)
        ]
        return _LateChunks(jobs, sums, len(ids) + 2)

    def _pooling_job(
        self, sequences: Sequence[NDArray[np.int64]], batch: Sequence[int]
    ) -> Job[NDArray[np.float32]]:
        members = [sequences[index] for index in batch]

        def pool() -> NDArray[np.float32]:
            return unit(np.stack([own.mean(axis=0) for own in self._encoder.token_vectors(members)]))

        return Job(sum(map(len, members)), pool)

    def _with_specials(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([self._bos, ids, self._eos])


def fingerprint(source_sha256: str) -> str:
    """16 hexadecimal digits over weights, tokenizer, prefixes and pooling.

    The weight file holds the vocabulary too. The converted files are left out on purpose: another release
    of the onnx package writes other bytes for the same model, and an index must not be refused for that.
    """
    parts = (source_sha256, PIPELINE, QUERY_PREFIX, DOCUMENT_PREFIX, POOLING)
    return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:16]
