"""Keeps a model's thinking out of what it answers, piece by piece as the text comes in."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto

from radref.errors import Internal

# Qwen3, DeepSeek-R1 and most others; a variant of them; Mistral's Magistral.
_CLOSINGS = {"<think>": "</think>", "<thinking>": "</thinking>", "[THINK]": "[/THINK]"}
_TAGS = (*_CLOSINGS, *_CLOSINGS.values())
_LONGEST = max(map(len, _TAGS))
# First characters that open a JSON value and no sentence.
_JSON_STARTS = '{["-0123456789'


class _State(Enum):
    START = auto()  # nothing but white space so far, or since the last block of thinking
    HELD = auto()  # JSON was asked for and this is none: may turn out to be thinking
    THINKING = auto()
    TEXT = auto()
    JSON = auto()


class ReasoningFilter:
    """Drops blocks of thinking from one answer.

    In free text every block is dropped. Text that stands before a closing tag which nothing opened is a
    trace too, because some templates open the block in the prompt: it is dropped where it was not handed on
    yet; where it was, the answer is refused. Of JSON only what stands before the JSON itself is looked at,
    so strings inside are never touched.

    Args:
        json: whether the answer is to be JSON.
    """

    def __init__(self, *, json: bool) -> None:
        self._json = json
        self._state = _State.START
        self._buffer = ""
        self._closing = ""
        self._shown = False
        self._searched = 0
        self.dropped = False

    def feed(self, text: str) -> str:
        """What of the answer can be shown now that `text` follows.

        Raises:
            Internal: a closing tag shows that what was handed on was thinking.
        """
        self._buffer += text
        shown = []
        while (piece := self._step()) is not None:
            shown.append(piece)
        found = "".join(shown)
        self._shown = self._shown or bool(found)
        return found

    def finish(self) -> str:
        """What was held back and is no thinking, once all text was fed."""
        rest = "" if self._state is _State.THINKING else self._buffer
        self._buffer = ""
        return rest

    def _step(self) -> str | None:
        """What can be shown after one decision; None where more text is needed for the next one."""
        match self._state:
            case _State.START:
                return self._decide()
            case _State.HELD:
                return self._held()
            case _State.THINKING:
                return self._think()
            case _State.TEXT:
                return self._text()
            case _State.JSON:
                return self._take(len(self._buffer)) or None

    def _decide(self) -> str | None:
        text = self._buffer.lstrip()
        for tag in _TAGS:
            if text.startswith(tag):
                self._drop(self._buffer.index(tag) + len(tag))
                self._enter(tag)
                return ""
        if any(tag.startswith(text) for tag in _TAGS):  # also when there is no text yet
            return None
        if self.dropped:
            self._buffer = text  # the white space belonged to the block
        if not self._json:
            self._state = _State.TEXT
        else:
            self._state = _State.JSON if text[0] in _JSON_STARTS else _State.HELD
        return ""

    def _held(self) -> str | None:
        found = _first(self._buffer, _CLOSINGS.values(), start=self._searched)
        if found is None:
            self._searched = max(0, len(self._buffer) - _LONGEST + 1)
            return None
        self._searched = 0
        place, tag = found
        self._drop(place + len(tag))
        self._state = _State.START
        return ""

    def _think(self) -> str | None:
        place = self._buffer.find(self._closing)
        if place < 0:
            self._drop(max(0, len(self._buffer) - len(self._closing) + 1))
            return None
        self._drop(place + len(self._closing))
        self._state = _State.TEXT if self._shown else _State.START
        return ""

    def _text(self) -> str | None:
        found = _first(self._buffer, _TAGS)
        if found is None:
            return self._take(len(self._buffer) - _held_back(self._buffer)) or None
        place, tag = found
        if tag in _CLOSINGS:
            shown = self._take(place)
            self._shown = self._shown or bool(shown)
            self._drop(len(tag))
            self._enter(tag)
            return shown
        if self._shown:
            raise Internal(
                "the language model mixes its reasoning into the answer: its setting `thinking` does not "
                "suit the model or its server"
            )
        self._drop(place + len(tag))
        self._state = _State.START
        return ""

    def _enter(self, tag: str) -> None:
        if tag in _CLOSINGS:
            self._closing = _CLOSINGS[tag]
            self._state = _State.THINKING

    def _take(self, length: int) -> str:
        taken, self._buffer = self._buffer[:length], self._buffer[length:]
        return taken

    def _drop(self, length: int) -> None:
        self.dropped = True
        self._buffer = self._buffer[length:]


def _first(text: str, tags: Iterable[str], *, start: int = 0) -> tuple[int, str] | None:
    """Place and name of the tag that comes first."""
    found = [(place, tag) for tag in tags if (place := text.find(tag, start)) >= 0]
    return min(found) if found else None


def _held_back(text: str) -> int:
    """Length of the longest end of the text that may become a tag."""
    for length in range(min(_LONGEST - 1, len(text)), 0, -1):
        if any(tag.startswith(text[-length:]) for tag in _TAGS):
            return length
    return 0
