"""The peers' embedder against a scripted inference service on real gRPC."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from evaluation.peers.embedding import ServiceEmbedder
from radref.api.inference.v1 import inference_pb2, inference_pb2_grpc
from radref.errors import Unavailable


class Model(inference_pb2_grpc.InferenceServiceServicer):
    """A vector is (number of characters, 1 for a question)."""

    def __init__(self) -> None:
        self.fingerprint = "m1"
        self.embedded: list[str] = []
        self.tokenized: list[str] = []

    def Embed(self, request, context):  # noqa: N802
        questions = list(request.queries.texts)
        texts = questions or list(request.documents.texts)
        if not questions:
            self.embedded.extend(texts)
        return inference_pb2.EmbedResponse(
            fingerprint=self.fingerprint,
            texts=[
                inference_pb2.EmbeddedText(
                    embeddings=[inference_pb2.Embedding(values=[len(text), bool(questions)])],
                    truncated=len(text) > 5,
                )
                for text in texts
            ],
        )

    def Tokenize(self, request, context):  # noqa: N802
        self.tokenized.extend(request.texts)
        counts = [inference_pb2.TokenizedText(count=len(text.split())) for text in request.texts]
        return inference_pb2.TokenizeResponse(texts=counts)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def address(model: Model) -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(2))
    inference_pb2_grpc.add_InferenceServiceServicer_to_server(model, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None)


def test_vectors_come_in_the_order_of_the_texts_and_equal_texts_once(
    model: Model, address: str, tmp_path: Path
) -> None:
    done: list[int] = []
    with ServiceEmbedder(address, tmp_path / "new" / "cache") as embedder:
        vectors = embedder.documents(["three", "a", "three", "longer text"], on_done=done.append)
        assert vectors == [[5, 0], [1, 0], [5, 0], [11, 0]]
        assert embedder.truncated(["three", "longer text"]) == 1
        assert embedder.query("what") == [4, 1]
        assert embedder.query_seconds > 0
        assert embedder.dimensions == 2
    assert sorted(model.embedded) == ["a", "longer text", "three"]
    assert sum(done) == 3


def test_a_second_run_takes_them_from_the_file_until_the_model_changes(
    model: Model, address: str, tmp_path: Path
) -> None:
    for _ in range(2):
        with ServiceEmbedder(address, tmp_path / "cache") as embedder:
            assert embedder.documents(["text", "other"]) == [[4, 0], [5, 0]]
            assert embedder.tokens(["two words", "one"]) == [2, 1]
            embedder.keep()
    assert len(model.embedded) == 2
    assert len(model.tokenized) == 2
    model.fingerprint = "m2"
    with ServiceEmbedder(address, tmp_path / "cache") as embedder:
        embedder.documents(["text"])
    assert len(model.embedded) == 3


def test_words_are_counted_once_however_often_texts_hold_them(
    model: Model, address: str, tmp_path: Path
) -> None:
    with ServiceEmbedder(address, tmp_path / "cache") as embedder:
        assert [embedder.count(text) for text in ("one two  one", "two\none", " ")] == [3, 2, 0]
    assert model.tokenized == ["one", "two"]


def test_a_service_that_is_away_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="inference service"):
        ServiceEmbedder("127.0.0.1:1", tmp_path / "cache")
