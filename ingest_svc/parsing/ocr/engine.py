"""What an OCR engine is to the rest: lines of words with boxes and confidences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class Word:
    """One word; the box is in pixels of the image that was read, from its top left.

    Attributes:
        confidence: 0 to 1, as the engine says.
    """

    text: str
    left: int
    top: int
    right: int
    bottom: int
    confidence: float

    @property
    def letters(self) -> int:
        """Letters and digits."""
        return sum(char.isalnum() for char in self.text)


@dataclass(frozen=True, slots=True)
class Line:
    """Words of one line from left to right; at least one.

    Attributes:
        paragraph: ordinal of the paragraph the engine put the line into.
        block: ordinal of the area of the page (a column, a caption).
    """

    words: tuple[Word, ...]
    paragraph: int
    block: int

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def left(self) -> int:
        return min(word.left for word in self.words)

    @property
    def right(self) -> int:
        return max(word.right for word in self.words)

    @property
    def top(self) -> int:
        return min(word.top for word in self.words)

    @property
    def bottom(self) -> int:
        return max(word.bottom for word in self.words)


@dataclass(frozen=True, slots=True)
class Orientation:
    """How a page must be turned to stand upright.

    Attributes:
        clockwise: 0, 90, 180 or 270 degrees.
        sure: the engine's evidence suffices; otherwise the caller compares.
    """

    clockwise: int
    sure: bool


class OcrEngine(Protocol):
    """Reads grey page images of about 300 dpi.

    All methods raise DeadlineExceeded (PARSE_TIMEOUT) after `timeout` seconds and Internal
    (PARSER_CRASHED) when the engine fails.
    """

    @property
    def name(self) -> str: ...

    def orientation(self, image: Image, timeout: float) -> Orientation | None:
        """How the page lies, or None when the engine cannot tell."""
        ...

    def read(self, image: Image, timeout: float) -> tuple[Line, ...]:
        """Lines of a page in reading order; () when there is no text."""
        ...

    def read_stack(self, image: Image, timeout: float) -> tuple[Line, ...]:
        """Lines of an image that has them one under the other, dark on white, with nothing beside."""
        ...


def confidence(lines: tuple[Line, ...]) -> float:
    """Mean word confidence weighted by letters, 0 to 1; 0 for no words."""
    letters = sum(word.letters for line in lines for word in line.words)
    if not letters:
        return 0.0
    return sum(word.confidence * word.letters for line in lines for word in line.words) / letters
