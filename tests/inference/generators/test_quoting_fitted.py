"""Thresholds of one embedder are never used with another one."""

from contextlib import aclosing

import pytest

from inference_svc.embedders.onnx_e5.embedder import OnnxE5Embedder
from inference_svc.generators.extractive import SelectionPolicy
from inference_svc.generators.quoting import QuotingGenerator
from radref.errors import PreconditionFailed
from tests.inference.generators.openai_setup import asked


async def test_another_embedder_answers_nothing(tiny_embedder: OnnxE5Embedder) -> None:
    generator = QuotingGenerator(tiny_embedder, SelectionPolicy(), "0" * 16)
    async with aclosing(generator.generate(asked())) as pieces:
        with pytest.raises(PreconditionFailed) as caught:
            await anext(pieces)
    assert caught.value.reason == "GATE_NOT_CALIBRATED"
    assert caught.value.metadata["in_use"] == tiny_embedder.description.fingerprint
