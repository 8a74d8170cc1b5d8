"""A language model behind an OpenAI-compatible server, as a radref generator."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import structlog

from inference_svc.generators.generator import (
    Delta,
    Finish,
    GenerationInput,
    GeneratorDescription,
    Message,
    Role,
    Summary,
)
from inference_svc.generators.openai_compatible.reasoning import ReasoningFilter
from inference_svc.generators.openai_compatible.request import Sampling, chat_body, probe_body
from inference_svc.generators.openai_compatible.served import check_served
from inference_svc.generators.openai_compatible.stream import Content, Ended, Event, Reasoning, stream_chat
from inference_svc.generators.openai_compatible.thinking import Thinking
from inference_svc.model_server.connection import open_client
from inference_svc.model_server.failure import Failed, closed, too_late
from inference_svc.model_server.retry import Retry
from inference_svc.places import Places
from radref.errors import Internal, Overloaded, Unavailable
from radref.service.context import downstream_timeout

_FINISHES = {"stop": Finish.STOP, "length": Finish.LENGTH}
_PROBE = Message(Role.USER, "readiness")

log = structlog.get_logger()


class OpenAIGenerator:
    """Generates through POST /chat/completions; belongs to one event loop.

    The server's weights cannot be seen from here: the fingerprint covers the model's names and how it is
    asked, so whoever changes the weights under a served name gives it another `id` or served name.

    Args:
        id: model id of requests, e.g. "qwen3-30b-a3b".
        base_url: address up to and with "/v1", e.g. "http://vllm:8000/v1" (vLLM), "http://ollama:11434/v1",
            "http://llama:8080/v1".
        upstream_model: name under which the server serves the model.
        api_key: bearer token; empty = none is sent.
        thinking: how thinking is turned off there.
        places: bounds requests at the server.
        observe_compute: called with the seconds from sending a request to the end of its answer.
        max_tokens: upper bound on generated tokens, 1 to 32768; a request may ask for fewer.
        window: tokens the server reads and writes at once (vLLM: --max-model-len, Ollama: num_ctx), 0 = not
            known. Ollama cuts longer prompts without saying so: give it a num_ctx that no prompt exceeds.
        timeout: seconds for a whole generation, > 0; an earlier deadline of the caller holds.
        idle: longest silence in seconds, before the first piece of an answer and between two, > 0; beyond,
            the server counts as stuck. Its queue and its reading of the prompt count, and Ollama's loading.
        temperature: 0 to 2; 0.1 is Paper A's.
        top_p: above 0, to 1; 0.9 is Paper A's.
        attempts: how often a request is sent while nothing was handed on, 1 or more.
        first_pause: seconds before the second attempt, > 0; see `Retry`.
        ca_file: PEM file of the only authorities trusted for https; None = those of the system.

    Raises:
        ValueError: base_url, api_key or ca_file cannot be used.
    """

    def __init__(
        self,
        *,
        id: str,
        base_url: str,
        upstream_model: str,
        api_key: str,
        thinking: Thinking,
        places: Places,
        observe_compute: Callable[[float], None],
        max_tokens: int,
        window: int,
        timeout: float,
        idle: float = 30.0,
        temperature: float = 0.1,
        top_p: float = 0.9,
        attempts: int = 3,
        first_pause: float = 0.25,
        ca_file: Path | None = None,
    ) -> None:
        self._sampling = Sampling(upstream_model, thinking, temperature, top_p, max_tokens)
        asked = json.dumps([id, upstream_model, temperature, top_p, thinking.value])
        self._description = GeneratorDescription(
            id=id,
            backend="openai",
            fingerprint=hashlib.sha256(asked.encode("utf-8")).hexdigest()[:16],
            window=window,
        )
        self._backend = f"language model {id}"
        self._places = places
        self._observe_compute = observe_compute
        self._timeout = timeout
        self._idle = idle
        self._retry = Retry(attempts, first_pause)
        self._client = open_client(base_url=base_url, api_key=api_key, ca_file=ca_file)
        self._answered = False
        self._reasoning_seen = False

    @property
    def id(self) -> str:
        return self._description.id

    @property
    def description(self) -> GeneratorDescription:
        return self._description

    async def generate(self, request: GenerationInput) -> AsyncGenerator[Delta | Summary, None]:
        """See `Generator`. Nothing that the model thought is among the deltas.

        Raises:
            InvalidInput: the schema is no JSON object, or the messages do not fit into the model's window.
        """
        body = chat_body(request, self._sampling)
        deadline = asyncio.get_running_loop().time() + downstream_timeout(self._timeout)
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout_at(deadline):
                    await held.enter_async_context(self._places.place())
            except TimeoutError:
                raise too_late(self._backend).error from None
            started = time.monotonic()
            async with aclosing(self._attempts(body, deadline, json=bool(request.json_schema))) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Summary):
                        self._observe_compute(time.monotonic() - started)
                    yield piece

    async def check(self) -> None:
        """The first time a generation of one token, afterwards whether the server lists the model.

        Raises:
            Unavailable: NOT_READY while the first generation is refused for load or because the server still
                loads; also when the model is not served.
            RadrefError: whatever `generate` raises.
        """
        deadline = asyncio.get_running_loop().time() + downstream_timeout(self._timeout)
        try:
            if self._answered:
                await check_served(self._client, self._sampling.model, self._backend, deadline)
            else:
                await self._probe(deadline)
                self._answered = True
        except Failed as failed:
            if isinstance(failed.error, Overloaded) and not self._answered:
                message = f"the {self._backend} is still loading, or too busy for a first answer"
                raise Unavailable(message, reason="NOT_READY") from None
            raise failed.error from None

    async def close(self) -> None:
        await self._client.close()

    async def _probe(self, deadline: float) -> None:
        async with aclosing(self._sent(probe_body(_PROBE, self._sampling), deadline)) as events:
            async for event in events:
                if isinstance(event, Ended):
                    self._finish(event)

    async def _attempts(
        self, body: dict[str, object], deadline: float, *, json: bool
    ) -> AsyncGenerator[Delta | Summary, None]:
        tried = 0
        handed_on = False
        while True:
            tried += 1
            try:
                async with aclosing(self._answer(body, deadline, json=json)) as pieces:
                    async for piece in pieces:
                        handed_on = True
                        yield piece
                return
            except Failed as failed:
                if handed_on:
                    raise failed.error from None
                await self._retry.pause(failed, tried, deadline)

    async def _answer(
        self, body: dict[str, object], deadline: float, *, json: bool
    ) -> AsyncGenerator[Delta | Summary, None]:
        shown = ReasoningFilter(json=json)
        written = False
        reasoned = False
        async with aclosing(self._sent(body, deadline)) as events:
            async for event in events:
                match event:
                    case Content():
                        if text := shown.feed(event.text):
                            written = True
                            yield Delta(text)
                    case Reasoning():
                        reasoned = True
                    case Ended():
                        finish = self._finish(event)
                        if text := shown.finish():
                            written = True
                            yield Delta(text)
                        self._tell_reasoning(reasoned or shown.dropped)
                        if not written and (reasoned or shown.dropped):
                            raise Internal(
                                f"the {self._backend} spent its whole answer on reasoning: turn thinking off "
                                "or allow more tokens"
                            )
                        yield Summary(finish, event.prompt_tokens, event.completion_tokens)

    def _sent(self, body: dict[str, object], deadline: float) -> AsyncGenerator[Event, None]:
        if self._client.is_closed():
            raise closed(self._backend)
        return stream_chat(self._client, body, backend=self._backend, deadline=deadline, idle=self._idle)

    def _finish(self, ended: Ended) -> Finish:
        finish = _FINISHES.get(ended.finish_reason)
        if finish is None:
            # The word is the server's: only what looks like one is repeated.
            known = re.fullmatch(r"[a-z_]{1,32}", ended.finish_reason)
            why = f' ("{known.group()}")' if known else ""
            raise Internal(f"the {self._backend} ended its answer for a reason that makes it none{why}")
        return finish

    def _tell_reasoning(self, seen: bool) -> None:
        if seen and not self._reasoning_seen:
            self._reasoning_seen = True
            log.warning("the model thinks: its setting `thinking` does not suit the server", model=self.id)
