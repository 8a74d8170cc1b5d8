"""The time the model worked comes along with a question's vector."""

from __future__ import annotations

import grpc
import pytest

from radref.api.inference.v1 import inference_pb2, inference_pb2_grpc
from radref.service.channels import open_channel
from retrieval_svc.inference_client import InferenceClient

FINGERPRINT = "f" * 16


class Inference(inference_pb2_grpc.InferenceServiceServicer):
    def __init__(self, milliseconds: float) -> None:
        self.milliseconds = milliseconds

    async def Embed(  # noqa: N802
        self, request: inference_pb2.EmbedRequest, context: grpc.aio.ServicerContext
    ) -> inference_pb2.EmbedResponse:
        text = inference_pb2.EmbeddedText(embeddings=[inference_pb2.Embedding(values=[0.0, 1.0])])
        return inference_pb2.EmbedResponse(
            fingerprint=FINGERPRINT, texts=[text], compute_milliseconds=self.milliseconds
        )

    async def Describe(  # noqa: N802
        self, request: inference_pb2.DescribeRequest, context: grpc.aio.ServicerContext
    ) -> inference_pb2.DescribeResponse:
        model = inference_pb2.ModelDescription(
            id="m", kind=inference_pb2.MODEL_KIND_EMBEDDER, fingerprint=FINGERPRINT
        )
        return inference_pb2.DescribeResponse(models=[model])


@pytest.mark.parametrize("milliseconds", [0.0, 12.5])
async def test_compute_time_comes_with_the_vector(milliseconds: float) -> None:
    server = grpc.aio.server()
    inference_pb2_grpc.add_InferenceServiceServicer_to_server(Inference(milliseconds), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    channel = open_channel(f"127.0.0.1:{port}")
    try:
        embedding = await InferenceClient(channel, timeout=5).embed_query("question", FINGERPRINT)
    finally:
        await channel.close()
        await server.stop(None)
    assert embedding.compute_milliseconds == milliseconds
    assert list(embedding.vector) == [0.0, 1.0]
