"""DeepSeek-OCR on an OpenAI-compatible vision endpoint (vLLM, or any server that takes image_url parts).

Facts from the model card (deepseek-ai/DeepSeek-OCR) and vLLM's recipe for it: the prompt below makes Markdown
with grounding tags, tables as HTML; temperature 0; a window of 8192 tokens, image included.
"""

from __future__ import annotations

import base64
import io
import json
import re
import time
from dataclasses import dataclass

from PIL import Image

from ingest_svc.document import Block
from ingest_svc.parsing.markdown import parse_markdown

_PROMPT = "<image>\n<|grounding|>Convert the document to markdown."
# What the window of 8192 leaves beside prompt and image (up to 1,156 tokens: nine tiles and an overview).
_MAX_TOKENS = 6144
_CONNECT_SECONDS = 10.0
# The model sees tiles of 640 pixels and an overview of 1024; more than this is scaled down anyway.
_MAX_SIDE = 2560
# 6,144 tokens are some 30 kB of text; JSON escapes Cyrillic sixfold.
_MAX_ANSWER_BYTES = 2_000_000
_REFERENCE = re.compile(r"<\|ref\|>(.*?)<\|/ref\|>", re.S)
_PLACE = re.compile(r"<\|det\|>.*?<\|/det\|>(?:[ \t]*\n)?", re.S)
_LABEL = re.compile(r"[a-z][a-z_ ]{0,30}")
_SPECIAL = re.compile(r"<\|/?[a-z_]{1,30}\|>|<[｜|][^<>\n]{1,40}[｜|]>")


class SecondReadingFailed(Exception):
    """The page could not be read; `cause` is for the reviewer and holds no text of the page."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


@dataclass(frozen=True, slots=True)
class DeepSeekOcr:
    """Client of one server.

    Args:
        url: base URL up to and with /v1.
        model: name under which the server serves the model.
        timeout_seconds: wall time of one page, above 0.
        api_key: bearer token, "" = none.
    """

    url: str
    model: str
    timeout_seconds: float
    api_key: str = ""

    @property
    def name(self) -> str:
        return "deepseek-ocr"

    def read(self, image: Image.Image, page_number: int) -> tuple[Block, ...]:
        """Blocks of a page, each with pages (page_number, page_number).

        Args:
            image: upright page.

        Raises:
            SecondReadingFailed: no answer, a refusal, a cut or malformed answer.
        """
        answer = self._post(self._body(image))
        try:
            choice = json.loads(answer)["choices"][0]
            text, finish = choice["message"]["content"], choice.get("finish_reason")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise SecondReadingFailed("the answer is malformed") from None
        if not isinstance(text, str):
            raise SecondReadingFailed("the answer is malformed")
        if finish == "length":
            raise SecondReadingFailed("the answer was cut off")
        return markdown_page(text, page_number)

    def _body(self, image: Image.Image) -> dict[str, object]:
        small = image.convert("L")
        small.thumbnail((_MAX_SIDE, _MAX_SIDE), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        small.save(buffer, "PNG")
        data = base64.b64encode(buffer.getvalue()).decode("ascii")
        content = [
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
            {"type": "text", "text": _PROMPT},
        ]
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": content}],
            "temperature": 0.0,
            "max_tokens": _MAX_TOKENS,
            "stream": False,
        }

    def _post(self, body: dict[str, object]) -> bytes:
        # Here and not above: only workers that send pages need it.
        import httpx2

        deadline = time.monotonic() + self.timeout_seconds
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        timeout = httpx2.Timeout(self.timeout_seconds, connect=min(_CONNECT_SECONDS, self.timeout_seconds))
        answer = bytearray()
        try:
            # No proxies from the environment: pages go to this server and nowhere else.
            with (
                httpx2.Client(timeout=timeout, trust_env=False, headers=headers) as client,
                client.stream("POST", f"{self.url.rstrip('/')}/chat/completions", json=body) as response,
            ):
                if response.status_code != 200:
                    raise SecondReadingFailed(f"the server answered {response.status_code}")
                for chunk in response.iter_bytes():
                    answer += chunk
                    if len(answer) > _MAX_ANSWER_BYTES:
                        raise SecondReadingFailed("the answer is too long")
                    if time.monotonic() > deadline:
                        raise SecondReadingFailed("the server took too long")
        except httpx2.TimeoutException:
            raise SecondReadingFailed("the server took too long") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
            raise SecondReadingFailed(f"the server does not answer ({type(exc).__name__})") from None
        return bytes(answer)


def markdown_page(text: str, page_number: int) -> tuple[Block, ...]:
    """Blocks of the model's Markdown without grounding tags and other control tokens.

    A reference names the kind of area ("title", "sub_title", "table"); one that holds anything else is text.
    """
    bare = _REFERENCE.sub(
        lambda match: "" if _LABEL.fullmatch(match.group(1).strip()) else match.group(1), text
    )
    bare = _SPECIAL.sub("", _PLACE.sub("", bare)).strip()
    if not bare:
        return ()
    # The heading in front makes it Markdown whatever stands on the page; it is taken off again.
    blocks = parse_markdown(f"# Page\n\n{bare}\n").blocks[1:]
    pages = (page_number, page_number)
    return tuple(Block(block.kind, block.text, block.level, pages) for block in blocks)
