"""The composition root: settings in, a service that can answer out."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from inference_svc.server import compose
from inference_svc.settings import InferenceSettings, OnnxEmbedderSettings, OpenAIGeneratorSettings, api_key
from radref.api.inference.v1 import inference_pb2 as pb
from radref.api.inference.v1.inference_pb2_grpc import InferenceServiceStub
from radref.errors import Unavailable
from radref.service.settings import SettingsError


def tiny(cache_dir: Path, weights: Path) -> OnnxEmbedderSettings:
    return OnnxEmbedderSettings(cache_dir=cache_dir, weights_path=weights, threads=1)


async def test_the_composed_service_is_ready_after_one_real_request(
    tmp_path: Path, tiny_weights: Path
) -> None:
    app = await compose(InferenceSettings(embedder=tiny(tmp_path, tiny_weights)))
    assert [component.name for component in app.components] == ["embedder", "generator extractive"]
    for component in app.components:
        await component.check()
    for close in app.closers:
        await close()
    with pytest.raises(Unavailable):
        await app.components[0].check()


async def test_a_second_embedder_is_picked_by_its_id(tmp_path: Path, tiny_weights: Path) -> None:
    first = tiny(tmp_path, tiny_weights)
    app = await compose(
        InferenceSettings(embedder=first, second_embedder=first.model_copy(update={"id": "other"}))
    )
    assert [component.name for component in app.components] == [
        "embedder",
        "second embedder",
        "generator extractive",
    ]
    server = grpc.aio.server()
    for servicer in app.services:
        servicer.add(servicer.servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        for component in app.components:
            await component.check()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = InferenceServiceStub(channel)
            described = (await stub.Describe(pb.DescribeRequest(), timeout=30)).models
            assert [(model.id, model.kind) for model in described[:2]] == [
                ("multilingual-e5-small", pb.MODEL_KIND_EMBEDDER),
                ("other", pb.MODEL_KIND_EMBEDDER),
            ]
            for model in ("", "other"):
                request = pb.EmbedRequest(model=model, queries=pb.EmbedQueries(texts=["dose"]))
                assert len((await stub.Embed(request, timeout=30)).texts) == 1
                tokens = await stub.Tokenize(pb.TokenizeRequest(model=model, texts=["dose"]), timeout=30)
                assert tokens.texts[0].count > 0
            with pytest.raises(grpc.aio.AioRpcError):
                await stub.Embed(
                    pb.EmbedRequest(model="third", queries=pb.EmbedQueries(texts=["dose"])), timeout=30
                )
    finally:
        await server.stop(None)
        for close in app.closers:
            await close()


def test_a_second_embedder_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RADREF_INFERENCE_SECOND_EMBEDDER__ID", "e5-official")
    monkeypatch.setenv("RADREF_INFERENCE_SECOND_EMBEDDER__THREADS", "3")
    second = InferenceSettings.load().second_embedder
    assert isinstance(second, OnnxEmbedderSettings)
    assert (second.id, second.threads) == ("e5-official", 3)


async def test_a_second_embedder_that_never_answered_takes_no_other_with_it(
    tmp_path: Path, tiny_weights: Path, closed_port: int
) -> None:
    remote = {"backend": "triton", "target": f"127.0.0.1:{closed_port}"}
    settings = InferenceSettings.model_validate(
        {"embedder": tiny(tmp_path, tiny_weights).model_dump(), "second_embedder": remote}
    )
    app = await compose(settings)
    servicer = app.services[0].servicer
    described = await servicer.Describe(pb.DescribeRequest(), None)
    assert [m.id for m in described.models if m.kind == pb.MODEL_KIND_EMBEDDER] == ["multilingual-e5-small"]
    with pytest.raises(Unavailable):
        await app.components[1].check()
    for close in app.closers:
        await close()


async def test_a_start_without_weights_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"weights cannot be read: .*none\.bin"):
        await compose(InferenceSettings(embedder=tiny(tmp_path, tmp_path / "none.bin")))


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that refuses connections and that nobody else can take."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


async def test_remote_models_may_be_down_at_start(closed_port: int) -> None:
    port = closed_port
    settings = InferenceSettings.model_validate(
        {
            "embedder": {"backend": "triton", "target": f"127.0.0.1:{port}"},
            "reranker": {"backend": "triton", "target": f"127.0.0.1:{port}"},
            "generators": [
                {
                    "backend": "openai",
                    "id": "llm",
                    "base_url": f"http://127.0.0.1:{port}/v1",
                    "model": "m",
                    "attempts": 1,
                }
            ],
        }
    )
    app = await compose(settings)
    assert [component.name for component in app.components] == ["embedder", "reranker", "generator llm"]
    for component in app.components:
        with pytest.raises(Unavailable):
            await component.check()
    for close in app.closers:
        await close()


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RADREF_INFERENCE_EMBEDDER__THREADS", "3")
    embedder = InferenceSettings.load().embedder
    assert isinstance(embedder, OnnxEmbedderSettings)
    assert embedder.threads == 3


def test_a_backend_brings_its_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RADREF_INFERENCE_EMBEDDER__BACKEND", "triton")
    monkeypatch.setenv("RADREF_INFERENCE_EMBEDDER__TARGET", "triton:8001")
    monkeypatch.setenv(
        "RADREF_INFERENCE_GENERATORS",
        '[{}, {"backend": "openai", "id": "q", "base_url": "https://llm/v1", "model": "m", '
        '"api_key": "secret"}]',
    )
    settings = InferenceSettings.load()
    assert settings.embedder.backend == "triton"
    assert [generator.id for generator in settings.generators] == ["extractive", "q"]
    assert "secret" not in repr(settings) + str(settings.masked())


OPENAI = '{"backend": "openai", "id": "q", "base_url": "http://llm/v1", "model": "m"'


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EMBEDDER__THREDS", "3"),
        ("EMBEDDER__THREADS", "-1"),
        ("EMBEDDER__TARGET", "triton:8001"),
        ("EMBEDDER__BACKEND", "gpt"),
        ("SECOND_EMBEDDER__ID", "multilingual-e5-small"),
        ("SECOND_EMBEDDER__BACKEND", "gpt"),
        ("RERANKER__BACKEND", "maxsim"),
        ("GENERATORS", "[]"),
        ("GENERATORS", '[{"backend": "gpt"}]'),
        ("GENERATORS", "[{}, {}]"),
        ("GENERATORS", f"[{OPENAI}}}, {OPENAI}}}]"),
        ("GENERATORS", f'[{OPENAI}, "temperature": 3}}]'),
        ("GENERATORS", f'[{OPENAI}, "base_url": "llm:8000"}}]'),
        ("GENERATORS", f'[{OPENAI}, "api_key": "k", "api_key_file": "/k"}}]'),
    ],
)
def test_settings_that_mean_nothing_are_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"RADREF_INFERENCE_{name}", value)
    with pytest.raises(SettingsError):
        InferenceSettings.load()


def test_the_key_of_a_server_comes_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("secret\n", encoding="utf-8")
    named = {"backend": "openai", "id": "q", "base_url": "http://llm/v1", "model": "m"}
    assert api_key(OpenAIGeneratorSettings.model_validate({**named, "api_key_file": file})) == "secret"
    absent = OpenAIGeneratorSettings.model_validate({**named, "api_key_file": tmp_path / "none"})
    with pytest.raises(Unavailable, match="none"):
        api_key(absent)
