"""An e5 model on the CPU: prefixes, mean pooling, late chunking, bounded queues."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from inference_svc.embedders.embedder import (
    EmbeddedSpans,
    EmbeddedTexts,
    EmbedderDescription,
    LateChunked,
    SpannedText,
    TokenizedText,
)
from inference_svc.embedders.lanes import EncoderLanes, Lane, TokenSequence, closed
from inference_svc.embedders.onnx_e5.directory import load_directory
from inference_svc.embedders.onnx_e5.encoder import finite, unit
from inference_svc.embedders.onnx_e5.encoder_thread import EncoderThread
from inference_svc.embedders.onnx_e5.model import E5Model, load_converted
from inference_svc.embedders.onnx_e5.spans import SpanSums, late_chunk_stride, token_ranges
from inference_svc.embedders.onnx_e5.tokenizer import DOCUMENT_PREFIX, QUERY_PREFIX
from inference_svc.windows import Window, windows
from radref.errors import Overloaded, Unavailable

P = ParamSpec("P")
T = TypeVar("T")

MODEL_ID = "multilingual-e5-small"
# So many characters are tokenised in 0.05 to 0.15 ms, less than a change to another thread and back takes
# (docs/performance.md); more would hold up the event loop.
SHORT_CHARACTERS = 512


class _Texts(NamedTuple):
    """Texts ready for the encoder; counts before truncation; seconds of tokenising."""

    sequences: list[TokenSequence[NDArray[np.float32]]]
    counts: list[int]
    truncated: list[bool]
    seconds: float


class _LateChunks(NamedTuple):
    """The windows of one text, the sums they fill, and the text's tokens with prefix and special tokens.

    `seconds` is the time that tokenising took.
    """

    sequences: list[TokenSequence[None]]
    sums: SpanSums
    token_count: int
    seconds: float


class OnnxE5Embedder:
    """The `Embedder` of the embedded default. Belongs to one event loop.

    Args:
        model: loaded.
        lanes: its waiting lines, closed with it.
        batch_tokens: tokens of a batch, padding included, >= 1; a question waits for at most one batch, and
            a full window is a batch whatever this says.
        model_id: by which requests pick it.
    """

    def __init__(
        self, model: E5Model, lanes: EncoderLanes, *, batch_tokens: int, model_id: str = MODEL_ID
    ) -> None:
        self._tokenizer = model.tokenizer
        self._thread = EncoderThread(model.encoder.token_vectors, lanes, batch_tokens=batch_tokens)
        self._bos, self._eos = np.array([model.bos], np.int64), np.array([model.eos], np.int64)
        self._closed = False
        # A thread for each line: a book that is being tokenised must not hold up a question.
        self._tokenizing = {lane: ThreadPoolExecutor(1, f"tokenize-{lane.value}") for lane in Lane}
        self._description = EmbedderDescription(
            id=model_id,
            backend="onnx",
            fingerprint=model.fingerprint,
            dimension=model.dimension,
            window=model.window,
            query_prefix=QUERY_PREFIX,
            document_prefix=DOCUMENT_PREFIX,
            document_overhead=model.tokenizer.prefix_tokens[DOCUMENT_PREFIX] + 2,
            tokenizer=model.tokenizer_fingerprint,
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
        model_dir: Path | None = None,
        model_id: str = MODEL_ID,
    ) -> Self:
        """Loads a model and tries it out. Blocks for one or more seconds.

        Args:
            cache_dir, weights_path: of the model made from 4-bit weights, see `converted_model`.
            threads: cores a batch is spread over; 0 = all that this process may use.
            spinning: see `E5Encoder`.
            model_dir: a published ONNX export instead, see `load_directory`; the cache is not touched.

        Raises:
            Unavailable: a file is missing or unreadable; or both weights_path and model_dir are given.
            Internal: a file is damaged or not what it should be.
        """
        if model_dir is not None and weights_path is not None:
            raise Unavailable("the embedder has both weights_path and model_dir: set one of them")
        if model_dir is not None:
            model = load_directory(model_dir, threads=threads, spinning=spinning)
        else:
            model = load_converted(cache_dir, weights_path, threads=threads, spinning=spinning)
        return cls(model, lanes, batch_tokens=batch_tokens, model_id=model_id)

    @property
    def id(self) -> str:
        return self._description.id

    @property
    def description(self) -> EmbedderDescription:
        return self._description

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddedTexts:
        return await self._embed(QUERY_PREFIX, texts, Lane.QUESTION)

    async def embed_documents(self, texts: Sequence[str], *, urgent: bool = False) -> EmbeddedTexts:
        return await self._embed(DOCUMENT_PREFIX, texts, Lane.QUESTION if urgent else Lane.DOCUMENT)

    async def embed_spans(self, texts: Sequence[SpannedText]) -> LateChunked:
        planned = [
            await self._aside(Lane.DOCUMENT, self._planned, spanned, index)
            for index, spanned in enumerate(texts)
        ]
        encoded = await self._thread.run(
            Lane.DOCUMENT, [window for late in planned for window in late.sequences]
        )
        return LateChunked(
            [await self._aside(Lane.DOCUMENT, self._span_vectors, late) for late in planned],
            encoded.compute_seconds + sum(late.seconds for late in planned),
        )

    async def tokenize(self, texts: Sequence[str], *, want_offsets: bool) -> list[TokenizedText]:
        if not want_offsets:
            counts = await self._aside(Lane.DOCUMENT, self._tokenizer.count, texts)
            return [TokenizedText(count, None) for count in counts]
        found = []
        for text in texts:
            _, offsets = await self._aside(Lane.DOCUMENT, self._tokenizer.ids_with_offsets, text)
            found.append(TokenizedText(len(offsets), offsets))
        return found

    async def check(self) -> None:
        with suppress(Overloaded):  # busy is up
            await self.embed_queries(["readiness"])

    async def close(self) -> None:
        """Waits for what is running; whatever waits or comes later fails with Unavailable."""
        self._closed = True
        await self._thread.close()
        for executor in self._tokenizing.values():
            await asyncio.to_thread(executor.shutdown)

    async def _aside(self, lane: Lane, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """In the line's tokenising thread."""
        if self._closed:
            raise closed()
        call = partial(work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._tokenizing[lane], call)

    async def _embed(self, prefix: str, texts: Sequence[str], lane: Lane) -> EmbeddedTexts:
        if sum(map(len, texts)) <= SHORT_CHARACTERS:
            prepared = self._prepared(prefix, texts)
        else:
            prepared = await self._aside(lane, self._prepared, prefix, texts)
        encoded = await self._thread.run(lane, prepared.sequences)
        return EmbeddedTexts(
            np.stack(encoded.results),
            prepared.counts,
            prepared.truncated,
            self._description.fingerprint,
            encoded.compute_seconds + prepared.seconds,
        )

    def _prepared(self, prefix: str, texts: Sequence[str]) -> _Texts:
        began = time.perf_counter()
        content = self._tokenizer.ids(prefix, texts)
        room = self._description.window - 2
        return _Texts(
            [TokenSequence(self._with_specials(ids[:room]), _mean) for ids in content],
            [len(ids) + 2 for ids in content],
            [len(ids) > room for ids in content],
            time.perf_counter() - began,
        )

    def _planned(self, spanned: SpannedText, index: int) -> _LateChunks:
        began = time.perf_counter()
        ids, offsets = self._tokenizer.ids_with_offsets(spanned.text)
        own = self._tokenizer.prefix_tokens[DOCUMENT_PREFIX]
        prefix, content = ids[:own], ids[own:]
        sums = SpanSums(token_ranges(offsets, spanned.spans, index), self._description.dimension)

        def add(window: Window, vectors: NDArray[np.float32]) -> None:
            shift = 1 + own - window.start  # from a token of the text to its row among the vectors
            sums.add(window.own_start, finite(vectors)[window.own_start + shift : window.own_end + shift])

        size = self._description.window
        capacity = size - self._description.document_overhead
        sequences = [
            TokenSequence(
                self._with_specials(np.concatenate([prefix, content[window.start : window.end]])),
                partial(add, window),
            )
            for window in windows(len(content), capacity, late_chunk_stride(size))
        ]
        return _LateChunks(sequences, sums, len(ids) + 2, time.perf_counter() - began)

    def _span_vectors(self, late: _LateChunks) -> EmbeddedSpans:
        return EmbeddedSpans(unit(late.sums.means()), late.token_count, self._description.fingerprint)

    def _with_specials(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([self._bos, ids, self._eos])


def _mean(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mean pooling: (tokens, dimension) to (dimension), L2 norm 1.

    Raises:
        Internal: a value is not finite (the mean is not, then), or the mean has no length.
    """
    pooled: NDArray[np.float32] = unit(finite(vectors.mean(axis=0, keepdims=True)))[0]
    return pooled
