"""DeepSeek-OCR over HTTP, against a stand-in server that answers well and badly."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from PIL import Image

from ingest_svc.document import Block, BlockKind, render
from ingest_svc.parsing.blocks import paragraph
from ingest_svc.parsing.ocr.agreement import agreement
from ingest_svc.parsing.ocr.deepseek import DeepSeekOcr, SecondReadingFailed, markdown_page
from ingest_svc.parsing.ocr.engine import Line, Orientation, Word
from ingest_svc.parsing.ocr.model import OcrPage
from ingest_svc.parsing.ocr.page_reader import PageReader

TEXT = (
    "Mean effective dose: chest radiograph 0.02 mSv, lumbar spine 1.50 mSv, pelvis 0.70 mSv, abdomen 0.75 "
    "mSv. These values apply to adults weighing 70 kg examined with 120 kV and automatic exposure control in "
    "2019"
)
GOOD = (
    "<|ref|>title<|/ref|><|det|>[[10, 10, 400, 40]]<|/det|>\n# Doses\n\n"
    f"<|ref|>text<|/ref|><|det|>[[10, 50, 400, 90]]<|/det|>\n{TEXT}.\n"
)
Respond = Callable[[BaseHTTPRequestHandler], None]


def reply(body: object, status: int = 200) -> Respond:
    def respond(handler: BaseHTTPRequestHandler) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return respond


def completion(content: object, finish: str = "stop") -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    return {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }


@contextmanager
def server(respond: Respond) -> Iterator[tuple[str, list[tuple[str, dict[str, str], Any]]]]:
    """A base URL, and the requests (path, headers, JSON body) that arrive there."""
    seen: list[tuple[str, dict[str, str], Any]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            self.close_connection = True
            respond(self)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_address[1]}/v1", seen
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


class SureOf:
    """An engine that reads given words with one confidence; the page reader takes any engine."""

    def __init__(self, text: str, confidence: float, seen: float = 0.9) -> None:
        self._words = text.split()
        self._confidence = confidence
        self._seen = seen

    @property
    def name(self) -> str:
        return "first"

    def orientation(self, image: Image.Image, timeout: float) -> Orientation | None:
        return Orientation(0, sure=True)

    def read(self, image: Image.Image, timeout: float) -> tuple[Line, ...]:
        """Every second word is read surely, so that there are witnesses on a bad page."""
        words = [
            Word(text, 20 + 60 * (at % 12), 20 + 60 * (at // 12), 70 + 60 * (at % 12), 50 + 60 * (at // 12),
                 self._seen if at % 2 else self._confidence)
            for at, text in enumerate(self._words)
        ]  # fmt: skip
        return tuple(Line(tuple(words[at : at + 12]), 0, 0) for at in range(0, len(words), 12))


def read(url: str, first: str = TEXT, confidence: float = 0.2, timeout: float = 10.0) -> OcrPage:
    reader = PageReader(
        SureOf(first, confidence),
        min_confidence=0.6,
        page_timeout_seconds=10.0,
        second=DeepSeekOcr(url, "deepseek-ai/DeepSeek-OCR", timeout, "secret"),
        second_below=0.7,
    )
    image = Image.new("L", (900, 400), 255)
    image.paste(0, (20, 20, 60, 50))
    return reader.read(image, 3)


def test_page_is_taken_and_tags_are_gone() -> None:
    with server(reply(completion(GOOD))) as (url, seen):
        result = read(url)
    assert [block.text for block in result.blocks] == ["# Doses", f"{TEXT}."]
    assert all(block.pages == (3, 3) for block in result.blocks)
    assert result.engine == "deepseek-ocr"
    assert result.unsure
    assert result.note == "Page 3 was read by deepseek-ocr: first was unsure of it. Check its figures."
    ((path, headers, body),) = seen
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == "Bearer secret"
    assert (body["model"], body["temperature"], body["stream"]) == ("deepseek-ai/DeepSeek-OCR", 0.0, False)
    image, prompt = body["messages"][0]["content"]
    assert prompt == {"type": "text", "text": "<image>\n<|grounding|>Convert the document to markdown."}
    kind, data = image["image_url"]["url"].split(",")
    assert kind == "data:image/png;base64"
    assert Image.open(io.BytesIO(base64.b64decode(data))).mode == "L"


def test_sure_pages_are_not_sent() -> None:
    with server(reply(completion(GOOD))) as (url, seen):
        result = read(url, confidence=0.95)
    assert seen == []
    assert result.engine == "first"


def cut(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')


def silent(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.close()


def redirect(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(302)
    handler.send_header("location", "http://127.0.0.1:1/elsewhere")
    handler.send_header("content-length", "0")
    handler.end_headers()


def flood(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("content-length", "50000000")
    handler.end_headers()
    try:
        for _ in range(50):
            handler.wfile.write(b" " * 1_000_000)
    except OSError:
        pass  # the client had enough


BAD: list[tuple[str, Respond, str]] = [
    ("error", reply({"error": "busy"}, 503), "the server answered 503"),
    ("redirect", redirect, "the server answered 302"),
    ("no json", reply(b"<html>"), "the answer is malformed"),
    ("no choices", reply({"choices": []}), "the answer is malformed"),
    ("list", reply([1]), "the answer is malformed"),
    ("null", reply(completion(None)), "the answer is malformed"),
    ("nested", reply(b"[" * 100_000), "the answer is malformed"),
    ("not utf-8", reply(b'{"choices": "\xff"}'), "the answer is malformed"),
    ("cut off", reply(completion(GOOD, "length")), "the answer was cut off"),
    ("connection lost", cut, "the server does not answer"),
    ("no answer", silent, "the server does not answer"),
    ("too long", flood, "the answer is too long"),
]


@pytest.mark.parametrize(("respond", "cause"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_failures_keep_the_first_reading(respond: Respond, cause: str) -> None:
    with server(respond) as (url, _):
        result = read(url)
    assert result.engine == "first"
    assert TEXT.split()[0] in render(result.blocks)[0]
    assert cause in result.note
    assert result.note.startswith("Page 3 could not be read a second time")


def test_nobody_listens() -> None:
    result = read("http://127.0.0.1:1/v1")
    assert result.engine == "first"
    assert "the server does not answer" in result.note


@pytest.mark.parametrize(
    "url", ["no url at all", "ftp://127.0.0.1/v1", "http://[", "http://127.0.0.1:99999/v1"]
)
def test_wrong_url_is_a_failure_like_any(url: str) -> None:
    assert read(url).engine == "first"


def test_slow_server() -> None:
    ended = threading.Event()

    def hang(handler: BaseHTTPRequestHandler) -> None:
        ended.wait(20)

    with server(hang) as (url, _):
        result = read(url, timeout=0.3)
        ended.set()
    assert "the server took too long" in result.note


MADE_UP = "Once upon a time there was a king who lived in a castle by the sea and had three daughters " * 2


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (MADE_UP, "it does not hold the words that are certain"),
        (
            TEXT.replace("1.50", "15.0").replace("0.75", "7.50"),
            "the numbers that are certain",
        ),
        (f"{TEXT}. {MADE_UP * 6}", "it is much longer than the page"),
        (f"{TEXT}. {'and so on and on it goes ' * 12}", "it repeats itself"),
        ("<|ref|>image<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>", "it is empty"),
    ],
    ids=["another page", "other numbers", "much more", "loop", "nothing"],
)
def test_hallucinations_are_not_taken(answer: str, cause: str) -> None:
    with server(reply(completion(answer))) as (url, _):
        result = read(url)
    assert result.engine == "first"
    assert cause in result.note


def words(text: str, confidence: float = 0.95) -> Sequence[Word]:
    return [Word(part, 0, 0, 10, 10, confidence) for part in text.split()]


def test_agreement_needs_witnesses() -> None:
    blocks = [paragraph(TEXT)]
    assert agreement(words(TEXT), blocks).agrees
    assert not agreement(words(TEXT, 0.5), blocks).agrees
    assert not agreement(words("Dose of 5"), blocks).agrees
    russian = "Эффективная доза при рентгенографии грудной клетки взрослого пациента равна 0,02 мЗв за снимок"
    assert agreement(words(russian), [paragraph(russian.upper())]).agrees


def test_table_of_measured_values_is_no_loop() -> None:
    rows = [f"| Organ {at} | {at * 3}.5 | {at * 7} |" for at in range(12, 40)]
    text = "\n".join(["| Organ | Dose | Limit |", "| --- | --- | --- |", *rows])
    assert agreement(words(text.replace("|", " ")), [Block(BlockKind.TABLE, text)]).agrees


def test_markdown_of_a_page() -> None:
    blocks = markdown_page(
        "<|ref|>table<|/ref|><|det|>[[1, 2, 3, 4], [5, 6, 7, 8]]<|/det|>\n"
        "<table><tr><td>Орган</td><td>Доза</td></tr><tr><td>Таз</td><td>0,7</td></tr></table>\n\n"
        "<|ref|>Таблица 1<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|> продолжается.<｜end▁of▁sentence｜>",
        9,
    )
    assert blocks == (
        Block(BlockKind.TABLE, "| Орган | Доза |\n| --- | --- |\n| Таз | 0,7 |", 0, (9, 9)),
        Block(BlockKind.PARAGRAPH, "Таблица 1 продолжается.", 0, (9, 9)),
    )
    assert markdown_page("<|ref|>image<|/ref|><|det|>[[0, 0, 9, 9]]<|/det|>", 1) == ()


def test_failure_holds_no_text_of_the_page() -> None:
    with server(reply({"error": TEXT}, 400)) as (url, _):
        client = DeepSeekOcr(url, "m", 5.0)
        with pytest.raises(SecondReadingFailed) as caught:
            client.read(Image.new("L", (50, 50), 255), 1)
    assert str(caught.value) == "the server answered 400"
