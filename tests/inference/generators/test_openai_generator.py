"""What is asked of the server, and what of its answer is handed on."""

from __future__ import annotations

import json
import ssl
from pathlib import Path

import pytest

from inference_svc.generators.generator import Delta, Finish, Summary
from inference_svc.generators.openai_compatible import Thinking
from radref.errors import Internal, InvalidInput, Overloaded, Unavailable
from tests.inference.certificates import authority_and_server
from tests.inference.generators.openai_setup import (
    CHAT,
    MODELS,
    QUESTION,
    SCHEMA,
    asked,
    generator,
    pieces,
    refuses,
    text,
    writes,
)
from tests.inference.openai_standin import Exchange, chunk, standin


async def test_streams_text_and_counts() -> None:
    seconds: list[float] = []
    async with standin() as server:
        server.on(CHAT, writes("20", " мЗв", " в год"))
        made = generator(server.url, observe_compute=seconds.append)
        assert await pieces(made) == [
            Delta("20"),
            Delta(" мЗв"),
            Delta(" в год"),
            Summary(Finish.STOP, prompt_tokens=7, completion_tokens=3),
        ]
        assert len(seconds) == 1
        await made.close()


async def test_asks_as_configured() -> None:
    async with standin() as server:
        server.on(CHAT, writes("x"))
        made = generator(server.url, temperature=0.2, top_p=0.8, max_tokens=100)
        await text(made, asked(max_tokens=50))
        await text(made, asked(max_tokens=500))
        first, second = server.seen
        assert first.json == {
            "model": "Qwen/Qwen3",
            "messages": [
                {"role": "system", "content": "Отвечай только по контексту."},
                {"role": "user", "content": QUESTION},
            ],
            "temperature": 0.2,
            "top_p": 0.8,
            "max_tokens": 50,
            "stream": True,
            "stream_options": {"include_usage": True},
            "chat_template_kwargs": {"enable_thinking": False},
        }
        assert second.json["max_tokens"] == 100
        assert "authorization" not in first.headers
        await made.close()


@pytest.mark.parametrize(
    ("thinking", "fields"),
    [
        (Thinking.CHAT_TEMPLATE_KWARGS, {"chat_template_kwargs": {"enable_thinking": False}}),
        (Thinking.REASONING_EFFORT_NONE, {"reasoning_effort": "none"}),
        (Thinking.LEAVE, {}),
    ],
)
async def test_turns_thinking_off(thinking: Thinking, fields: dict[str, object]) -> None:
    async with standin() as server:
        server.on(CHAT, writes("x"))
        made = generator(server.url, thinking=thinking)
        await text(made)
        body = server.seen[0].json
        assert {
            name: body[name] for name in ("chat_template_kwargs", "reasoning_effort") if name in body
        } == fields
        await made.close()


async def test_sends_the_schema() -> None:
    async with standin() as server:
        server.on(CHAT, writes('{"dose": "20', ' мЗв <think>"}'))
        made = generator(server.url)
        assert await text(made, asked(SCHEMA)) == '{"dose": "20 мЗв <think>"}'
        assert server.seen[0].json["response_format"] == {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": json.loads(SCHEMA), "strict": True},
        }
        await made.close()


@pytest.mark.parametrize("schema", ["{", "[]", "1", '{"a": NaN}', '{"a": 1e999}', '"\\ud800"', "[" * 9_000])
async def test_refuses_what_is_no_schema(schema: str) -> None:
    async with standin() as server:
        made = generator(server.url)
        with pytest.raises(InvalidInput) as caught:
            await pieces(made, asked(schema))
        assert caught.value.field == "json_schema"
        assert not server.seen
        await made.close()


async def test_sends_the_key() -> None:
    async with standin() as server:
        server.on(CHAT, writes("x"))
        made = generator(server.url, api_key="secret\n")
        await text(made)
        assert server.seen[0].headers["authorization"] == "Bearer secret"
        await made.close()


async def test_goes_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    async with standin() as other, standin() as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, other.url)
        monkeypatch.setenv("OPENAI_BASE_URL", other.url)
        monkeypatch.setenv("OPENAI_API_KEY", "from the environment")
        server.on(CHAT, writes("x"), refuses(307, location=f"{other.url}{CHAT}"))
        made = generator(server.url)
        assert await text(made) == "x"
        assert "authorization" not in server.seen[0].headers
        with pytest.raises(Unavailable, match="base_url"):
            await text(made)
        assert not other.seen
        await made.close()


async def test_one_connection_serves_answers_one_after_another() -> None:
    async with standin() as server:
        server.on(CHAT, writes("x"))
        made = generator(server.url)
        for _ in range(5):
            await text(made)
        assert len({id(exchange.writer) for exchange in server.seen}) == 1
        await made.close()


async def test_reads_what_ollama_and_llama_cpp_send() -> None:
    async def ollama(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.event(chunk(role="assistant", content="", reasoning="тайна"))
        await exchange.event(chunk(role="assistant", content="20"))
        await exchange.end()

    async def llama_cpp(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.raw(b": keep-alive\n\n")
        await exchange.event(chunk(role="assistant", content=None))
        await exchange.event(chunk(reasoning_content="тайна"))
        await exchange.event(chunk(content="20"))
        await exchange.event(chunk(finish="length") | {"timings": {"x": 1}, "usage": {"prompt_tokens": 4}})
        await exchange.event("[DONE]")
        await exchange.close_stream()

    async with standin() as server:
        made = generator(server.url)
        server.on(CHAT, ollama)
        assert await pieces(made) == [Delta("20"), Summary(Finish.STOP, 7, 3)]
        server.on(CHAT, llama_cpp)
        assert await pieces(made) == [Delta("20"), Summary(Finish.LENGTH, 4, 0)]
        await made.close()


@pytest.mark.parametrize("finish", ["content_filter", "abort", "tool_calls", "error", "<b>\n"])
async def test_other_ends_are_no_answer(finish: str) -> None:
    async with standin() as server:
        server.on(CHAT, writes("20", finish=finish))
        made = generator(server.url)
        with pytest.raises(Internal) as caught:
            await pieces(made)
        assert (finish in caught.value.message) == (finish != "<b>\n")
        await made.close()


async def test_an_answer_of_reasoning_only_is_none() -> None:
    async def fields(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.event(chunk(reasoning="тайна"))
        await exchange.end("length")

    async with standin() as server:
        made = generator(server.url)
        for script in (writes("<thi", "nk>тай", "на", finish="length"), writes("<think>тайна"), fields):
            server.on(CHAT, script)
            with pytest.raises(Internal, match="reasoning"):
                await pieces(made)
        await made.close()


async def test_reasoning_before_the_answer_is_dropped() -> None:
    async with standin() as server:
        server.on(CHAT, writes("<th", "ink>тай", "на</th", "ink>\n\n20", " мЗв"))
        made = generator(server.url)
        assert await pieces(made) == [Delta("20"), Delta(" мЗв"), Summary(Finish.STOP, 7, 3)]
        await made.close()


async def test_the_fingerprint_follows_how_the_model_is_asked() -> None:
    url = "http://127.0.0.1:9"
    same = generator(url).description
    assert (same.id, same.backend, same.window) == ("qwen", "openai", 4096)
    assert len(same.fingerprint) == 16
    assert generator(url, max_tokens=9).description == same
    others = [
        generator(url, **change).description.fingerprint
        for change in (
            {"id": "other"},
            {"upstream_model": "other"},
            {"temperature": 0.3},
            {"top_p": 0.3},
            {"thinking": Thinking.LEAVE},
        )
    ]
    assert len({same.fingerprint, *others}) == 6


async def test_checks_with_a_generation_first_and_a_list_later() -> None:
    async def models(exchange: Exchange) -> None:
        await exchange.answer(200, {"object": "list", "data": [{"id": "Qwen/Qwen3"}, {"id": "b:latest"}]})

    async with standin() as server:
        server.on(CHAT, refuses(503), refuses(503), refuses(503), writes("<think>", finish="length"))
        server.on(MODELS, models)
        made = generator(server.url)
        with pytest.raises(Unavailable) as caught:
            await made.check()
        assert caught.value.reason == "NOT_READY"
        while True:
            try:
                await made.check()
                break
            except Unavailable:
                continue
        assert server.seen[-1].json["max_tokens"] == 1
        await made.check()
        assert server.seen[-1].path == MODELS
        await made.close()

        tagged = generator(server.url, upstream_model="b")
        await tagged.check()
        await tagged.check()
        await tagged.close()

        gone = generator(server.url, upstream_model="gone")
        await gone.check()
        with pytest.raises(Unavailable, match="does not serve"):
            await gone.check()
        server.on(MODELS, refuses(200, [1]))
        with pytest.raises(Internal):
            await gone.check()
        server.on(MODELS, refuses(503))
        with pytest.raises(Overloaded):
            await gone.check()
        await gone.close()


async def test_trusts_its_authority_only(tmp_path: Path) -> None:
    authority, certificate, key = authority_and_server(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    async with standin(context) as server:
        server.on(CHAT, writes("x"))
        made = generator(server.url, ca_file=authority)
        assert await text(made) == "x"
        await made.close()
        stranger = generator(server.url)
        with pytest.raises(Unavailable, match="certificate"):
            await text(stranger)
        await stranger.close()


@pytest.mark.parametrize(
    "change",
    [{"base_url": "vllm:8000/v1"}, {"base_url": "http:///v1"}, {"api_key": "a\nb"}, {"api_key": "ключ"}],
)
def test_refuses_settings_that_cannot_work(change: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        generator("http://127.0.0.1:9", **change)


def test_refuses_an_authority_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("no certificate")
    for path in (tmp_path / "missing.pem", tmp_path / "no.pem"):
        with pytest.raises(ValueError, match="ca_file"):
            generator("http://127.0.0.1:9", ca_file=path)
