from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from inference_svc.embedders.lanes import EncoderLanes
from inference_svc.embedders.onnx_e5.cache import ConvertedModel, converted_model
from inference_svc.embedders.onnx_e5.embedder import OnnxE5Embedder
from inference_svc.embedders.onnx_e5.encoder import E5Encoder
from inference_svc.embedders.onnx_e5.model import E5Model, load_converted
from inference_svc.embedders.onnx_e5.tokenizer import E5Tokenizer
from inference_svc.embedders.onnx_e5.weights import E5Weights, bundled_weights_path
from tests.inference.tiny_weights import write_tiny_weights


@pytest.fixture(scope="session")
def tiny_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A weight file whose conversion takes a moment."""
    return write_tiny_weights(tmp_path_factory.mktemp("tiny") / "weights.bin")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory, tiny_weights: Path) -> ConvertedModel:
    return converted_model(tmp_path_factory.mktemp("tiny-cache"), tiny_weights)


@pytest.fixture(scope="session")
def real_weights() -> E5Weights:
    return E5Weights(bundled_weights_path())


@pytest.fixture(scope="session")
def real_model(tmp_path_factory: pytest.TempPathFactory) -> ConvertedModel:
    """multilingual-e5-small; RADREF_TEST_CACHE names a directory that outlives the run."""
    kept = os.environ.get("RADREF_TEST_CACHE")
    return converted_model(Path(kept) if kept else tmp_path_factory.mktemp("models"))


def lanes() -> EncoderLanes:
    return EncoderLanes(question_tokens=100_000, document_tokens=100_000, observe_wait=lambda _: None)


@pytest.fixture(scope="session")
def real_e5(real_model: ConvertedModel) -> E5Model:
    return load_converted(real_model.encoder.parent.parent, None, threads=2, spinning=False)


@pytest.fixture(scope="session")
def real_tokenizer(real_e5: E5Model) -> E5Tokenizer:
    return real_e5.tokenizer


@pytest.fixture(scope="session")
def real_encoder(real_e5: E5Model) -> E5Encoder:
    return real_e5.encoder


@pytest_asyncio.fixture
async def embedder(real_e5: E5Model) -> AsyncIterator[OnnxE5Embedder]:
    made = OnnxE5Embedder(real_e5, lanes(), batch_tokens=512)
    yield made
    await made.close()


@pytest.fixture(scope="session")
def tiny_e5(tiny_model: ConvertedModel, tiny_weights: Path) -> E5Model:
    return load_converted(tiny_model.encoder.parent.parent, tiny_weights, threads=1, spinning=False)


@pytest_asyncio.fixture
async def tiny_embedder(tiny_e5: E5Model) -> AsyncIterator[OnnxE5Embedder]:
    made = OnnxE5Embedder(tiny_e5, lanes(), batch_tokens=128)
    yield made
    await made.close()
