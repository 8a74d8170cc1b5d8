"""Texts and child spans to unit vectors: plans token sequences, runs them in batches, puts results back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from inference_svc.triton.batches import length_sorted_batches
from inference_svc.triton.embed_calls import EmbedAnswer, EmbedCall
from inference_svc.triton.errors import RequestError
from inference_svc.triton.frida_settings import FridaSettings
from inference_svc.triton.prefixed_tokenizer import PrefixedTokenizer
from inference_svc.triton.spans import token_ranges
from inference_svc.triton.t5_encoder import T5Encoder, TokenSequence
from inference_svc.windows import windows


@dataclass(slots=True)
class _Work:
    """A request while its sequences go through the encoder."""

    tokens: list[int] = field(default_factory=list)
    truncated: list[bool] = field(default_factory=list)
    sums: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    error: RequestError | None = None


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sequence of request `call`; its sums are added to rows `rows` of that request."""

    call: int
    rows: NDArray[np.int64]
    sequence: TokenSequence


class T5Embedder:
    """Embeds requests together. One thread at a time.

    Args:
        tokenizer: with the prefixes of the settings.
        encoder: the model.
        dimension: length of its vectors.
        settings: window, stride, pooling, prefixes, batch size.
    """

    def __init__(
        self, tokenizer: PrefixedTokenizer, encoder: T5Encoder, dimension: int, settings: FridaSettings
    ) -> None:
        self._tokenizer, self._encoder = tokenizer, encoder
        self._dimension, self._settings = dimension, settings

    def embed(
        self, calls: Sequence[EmbedCall], wanted: Callable[[int], bool] = lambda _: True
    ) -> list[EmbedAnswer | RequestError]:
        """One answer or error a request; a request that fails leaves its neighbours alone.

        Args:
            calls: requests.
            wanted: whether the caller of request i still waits; asked before every batch. Work nobody waits
                for is not done and answered with CANCELLED.
        """
        works = [_Work() for _ in calls]
        pieces = self._whole_texts(calls, works)
        for index, call in enumerate(calls):
            if call.spans is not None:
                try:
                    pieces += self._spanned(index, call.texts[0], call.spans, works[index])
                except RequestError as error:
                    works[index].error = error
        for batch in length_sorted_batches(
            [len(piece.sequence.ids) for piece in pieces], self._settings.batch_tokens
        ):
            for owner in {pieces[place].call for place in batch}:
                if works[owner].error is None and not wanted(owner):
                    works[owner].error = RequestError("CANCELLED", "the caller went away")
            live = [pieces[place] for place in batch if works[pieces[place].call].error is None]
            if live:
                self._run(live, works)
        return [
            work.error or self._answer(work, spanned=call.spans is not None)
            for work, call in zip(works, calls, strict=True)
        ]

    def _whole_texts(self, calls: Sequence[EmbedCall], works: Sequence[_Work]) -> list[_Piece]:
        settings, own = self._settings, self._tokenizer
        prefixed = [
            (settings.query_prefix if query else settings.document_prefix, text)
            for call in calls
            if call.spans is None
            for text, query in zip(call.texts, call.queries, strict=True)
        ]
        # All requests at once: the library tokenises a batch on several cores.
        ids = iter(own.ids(prefixed) if prefixed else [])
        room = settings.window - len(own.before) - len(own.after)
        pieces = []
        for index, (call, work) in enumerate(zip(calls, works, strict=True)):
            if call.spans is not None:
                continue
            work.sums = np.zeros((len(call.texts), self._dimension))
            for row in range(len(call.texts)):
                content = next(ids)
                work.tokens.append(len(own.before) + len(content) + len(own.after))
                work.truncated.append(len(content) > room)
                framed = np.concatenate([own.before, content[:room], own.after])
                last = 1 if settings.pooling == "cls" else len(framed)
                sequence = TokenSequence(framed, np.array([[0, last]]))
                pieces.append(_Piece(index, np.array([row]), sequence))
        return pieces

    def _spanned(self, index: int, text: str, spans: NDArray[np.int64], work: _Work) -> list[_Piece]:
        settings, own = self._settings, self._tokenizer
        ids, offsets = own.ids_with_offsets(settings.document_prefix, text)
        taken = own.prefix_tokens(settings.document_prefix)
        prefix, content = ids[:taken], ids[taken:]
        ranges = token_ranges(text, offsets, spans)
        work.sums = np.zeros((len(spans), self._dimension))
        work.tokens.append(len(own.before) + len(ids) + len(own.after))
        work.truncated.append(False)
        capacity = settings.window - own.overhead(settings.document_prefix)
        pieces = []
        for window in windows(len(content), capacity, settings.stride):
            owned = np.clip(ranges, window.own_start, window.own_end)
            rows = np.flatnonzero(owned[:, 1] > owned[:, 0])
            if rows.size:
                framed = np.concatenate([own.before, prefix, content[window.start : window.end], own.after])
                shift = len(own.before) + taken - window.start
                pieces.append(_Piece(index, rows, TokenSequence(framed, owned[rows] + shift)))
        return pieces

    def _run(self, pieces: Sequence[_Piece], works: Sequence[_Work]) -> None:
        try:
            found = self._encoder.range_sums([piece.sequence for piece in pieces])
        except torch.OutOfMemoryError:
            error = RequestError(
                "BACKEND_UNAVAILABLE", "the device has not enough memory left for one window of this text"
            )
            for piece in pieces:
                works[piece.call].error = error
            return
        for piece, sums in zip(pieces, found, strict=True):
            works[piece.call].sums[piece.rows] += sums

    def _answer(self, work: _Work, *, spanned: bool) -> EmbedAnswer | RequestError:
        # The mean of a range and its sum point the same way, so the counts are never needed.
        norms = np.linalg.norm(work.sums, axis=1, keepdims=True)
        if not np.isfinite(norms).all() or not norms.all():
            return RequestError("INTERNAL", "the model made a vector that is not finite, or zero")
        vectors = (work.sums / norms).astype(np.float32)
        return EmbedAnswer(vectors[None] if spanned else vectors[:, None], work.tokens, work.truncated)
