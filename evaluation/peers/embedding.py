"""radref's embedding model for the peers: the same vectors at the same speed for everyone.

Synchronous, because Haystack's components are. Vectors of documents and token counts are kept in a file, so
that only the first run over a corpus takes long.
"""

from __future__ import annotations

import hashlib
import sqlite3
import struct
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc

from radref.api.inference.v1 import inference_pb2, inference_pb2_grpc
from radref.errors import Unavailable

T = TypeVar("T")

# Sixteen full windows take a few seconds on two slow cores.
_BATCH = 16
_TOKENIZE_BATCH = 1000
_DOCUMENT_SECONDS = 300.0
_QUERY_SECONDS = 30.0
_MESSAGE_BYTES = 64 * 1024 * 1024

_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors
  (model TEXT, text TEXT, vector BLOB, truncated INTEGER, PRIMARY KEY (model, text));
CREATE TABLE IF NOT EXISTS counts (model TEXT, text TEXT, tokens INTEGER, PRIMARY KEY (model, text));
"""


class ServiceEmbedder:
    """Embeds through a running inference service.

    Args:
        address: host:port of the inference service.
        cache: file of document vectors and token counts; made when absent. Rows carry the model's
            fingerprint, so another model starts anew.

    Attributes:
        fingerprint: of the model.
        query_seconds: time that the last `query` took, the way to the service included.

    Every method raises Unavailable when the service does not answer.
    """

    def __init__(self, address: str, cache: Path) -> None:
        options = [
            ("grpc.max_receive_message_length", _MESSAGE_BYTES),
            ("grpc.max_send_message_length", _MESSAGE_BYTES),
        ]
        self._address = address
        self._channel = grpc.insecure_channel(address, options=options)
        self._stub = inference_pb2_grpc.InferenceServiceStub(self._channel)
        cache.parent.mkdir(parents=True, exist_ok=True)
        # Peers chunk in worker threads, one at a time.
        self._cache = sqlite3.connect(cache, check_same_thread=False)
        self._cache.executescript(_SCHEMA)
        probe = inference_pb2.EmbedRequest(queries=inference_pb2.EmbedQueries(texts=["probe"]))
        response = self._call(self._stub.Embed, probe, _DOCUMENT_SECONDS)
        self.fingerprint = response.fingerprint
        self.dimensions = len(response.texts[0].embeddings[0].values)
        self.query_seconds = 0.0
        self._words: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cache.close()
        self._channel.close()

    def query(self, text: str) -> list[float]:
        """The vector of a question; never cached."""
        started = time.perf_counter()
        request = inference_pb2.EmbedRequest(queries=inference_pb2.EmbedQueries(texts=[text]))
        response = self._call(self._stub.Embed, request, _QUERY_SECONDS)
        vector = list(response.texts[0].embeddings[0].values)
        self.query_seconds = time.perf_counter() - started
        return vector

    def documents(
        self, texts: Sequence[str], on_done: Callable[[int], None] = lambda n: None
    ) -> list[list[float]]:
        """One vector a text, from the file where it has them. `on_done` gets how many more are ready."""
        known = {}
        missing = []
        for text in dict.fromkeys(texts):
            row = self._row("SELECT vector FROM vectors WHERE model = ? AND text = ?", text)
            if row is None:
                missing.append(text)
            else:
                known[text] = _unpack(row[0])
        on_done(len(known))
        for batch in _batches(sorted(missing, key=len), _BATCH):
            request = inference_pb2.EmbedRequest(documents=inference_pb2.EmbedDocuments(texts=batch))
            response = self._call(self._stub.Embed, request, _DOCUMENT_SECONDS)
            rows = []
            for text, embedded in zip(batch, response.texts, strict=True):
                # As the file gives it back, so that a second run equals the first.
                packed = _pack(embedded.embeddings[0].values)
                known[text] = _unpack(packed)
                rows.append((self.fingerprint, _digest(text), packed, embedded.truncated))
            with self._cache:
                self._cache.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)
            on_done(len(batch))
        return [known[text] for text in texts]

    def truncated(self, texts: Iterable[str]) -> int:
        """How many of the texts, all embedded before, were longer than the model's window."""
        query = "SELECT truncated FROM vectors WHERE model = ? AND text = ?"
        rows = (self._row(query, text) for text in texts)
        return sum(bool(row[0]) for row in rows if row is not None)

    def tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text by the embedding model, without prefix and special tokens."""
        known = {}
        missing = []
        for text in dict.fromkeys(texts):
            row = self._row("SELECT tokens FROM counts WHERE model = ? AND text = ?", text)
            if row is None:
                missing.append(text)
            else:
                known[text] = int(row[0])
        for batch in _batches(missing, _TOKENIZE_BATCH):
            request = inference_pb2.TokenizeRequest(texts=batch)
            response = self._call(self._stub.Tokenize, request, _DOCUMENT_SECONDS)
            counts = [item.count for item in response.texts]
            known.update(zip(batch, counts, strict=True))
            rows = [(self.fingerprint, _digest(text), known[text]) for text in batch]
            self._cache.executemany("INSERT OR REPLACE INTO counts VALUES (?, ?, ?)", rows)
        return [known[text] for text in texts]

    def count(self, text: str) -> int:
        """`tokens` of one text, fast when most of its words were counted before.

        Tokens of the model never reach over white space, so the counts of the words add up to that of a text.
        """
        words = text.split()
        unknown = [word for word in dict.fromkeys(words) if word not in self._words]
        if unknown:
            self._words.update(zip(unknown, self.tokens(unknown), strict=True))
        return sum(self._words[word] for word in words)

    def keep(self) -> None:
        """Writes the token counts of the last calls to the file: one write for many small calls."""
        self._cache.commit()

    def _row(self, query: str, text: str) -> tuple[Any] | None:
        row: tuple[Any] | None = self._cache.execute(query, (self.fingerprint, _digest(text))).fetchone()
        return row

    def _call(self, method: Callable[..., T], request: object, seconds: float) -> T:
        try:
            return method(request, timeout=seconds)
        except grpc.RpcError as error:
            # A failed call is a grpc.Call as well, which has these.
            status = f"{error.code().name}: {error.details()}"
            raise Unavailable(f"The inference service at {self._address} failed: {status}") from None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _pack(values: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def _unpack(data: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def _batches(items: Sequence[str], size: int) -> Iterable[list[str]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])
