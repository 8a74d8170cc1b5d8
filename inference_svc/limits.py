"""What the API accepts (comments of inference.proto), refused with a reason before any model sees it."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from radref.errors import InvalidInput

MAX_TEXTS = 256
MAX_SPANNED_TEXTS = 64
MAX_SPANS = 1_000
MAX_TOKENIZE_TEXTS = 1_024
MAX_QUESTION_CHARACTERS = 20_000
MAX_DOCUMENT_CHARACTERS = 200_000
MAX_TOKENIZE_CHARACTERS = 2_000_000
MAX_MESSAGES = 16
MAX_MESSAGE_CHARACTERS = 1_000_000
MAX_SCHEMA_CHARACTERS = 20_000
MAX_PASSAGES = 64
MAX_GENERATED_TOKENS = 32_768
# Bounds of one answer, so that it fits into a message of 64 MiB: vectors take 4 bytes a component, an
# offset takes at most 12 bytes and there is at most one a character.
MAX_COMPONENTS = 12_000_000
MAX_OFFSET_CHARACTERS = 4_000_000


def check_range(value: int, low: int, high: int, field: str, what: str) -> None:
    """Raises InvalidInput OUT_OF_RANGE unless low <= value <= high."""
    if not low <= value <= high:
        raise InvalidInput(
            f"{what}: {low} to {high} are accepted, got {value}",
            reason="OUT_OF_RANGE",
            field=field,
            metadata={"limit": str(high)},
        )


def check_length(text: str, limit: int, field: str) -> None:
    """Raises InvalidInput TEXT_TOO_LONG above `limit` code points."""
    if len(text) > limit:
        raise InvalidInput(
            f"the text has {len(text)} characters, at most {limit} are accepted",
            reason="TEXT_TOO_LONG",
            field=field,
            metadata={"limit": str(limit)},
        )


def check_text(text: str, limit: int, field: str) -> None:
    """Raises InvalidInput EMPTY_TEXT without a visible character, TEXT_TOO_LONG above `limit` code points."""
    check_length(text, limit, field)
    if not has_visible(text):
        raise InvalidInput("the text is empty or only white space", reason="EMPTY_TEXT", field=field)


def check_texts(texts: Sequence[str], count: int, characters: int, field: str) -> None:
    """1 to `count` texts with 1 to `characters` code points each, one of them visible.

    Raises:
        InvalidInput: OUT_OF_RANGE, EMPTY_TEXT or TEXT_TOO_LONG.
    """
    check_range(len(texts), 1, count, field, "number of texts")
    for index, text in enumerate(texts):
        check_text(text, characters, f"{field}[{index}]")


def check_spans(text: str, spans: Sequence[tuple[int, int]], field: str) -> None:
    """1 to 1000 spans, not empty, inside the text, with something visible; starts and ends ascend.

    Raises:
        InvalidInput: OUT_OF_RANGE or INVALID_SPAN.
    """
    check_range(len(spans), 1, MAX_SPANS, field, "number of spans")
    for index, (start, end) in enumerate(spans):
        where = f"{field}[{index}]"
        if not 0 <= start < end <= len(text):
            raise InvalidInput(
                f"the span [{start}, {end}) is empty or outside its text of {len(text)} characters",
                reason="INVALID_SPAN",
                field=where,
            )
        if not has_visible(text, start, end):
            raise InvalidInput(
                "this span holds no text, or only white space", reason="INVALID_SPAN", field=where
            )
        if index and not (spans[index - 1][0] < start and spans[index - 1][1] < end):
            raise InvalidInput(
                "this span does not start and end after the one before it: spans ascend, neighbours may "
                "overlap, none holds another",
                reason="INVALID_SPAN",
                field=where,
            )


def check_tokenize(texts: Sequence[str], *, want_offsets: bool) -> None:
    """1 to 1024 texts with 1 to 2,000,000 code points each; white space alone is allowed.

    Raises:
        InvalidInput: OUT_OF_RANGE, EMPTY_TEXT or TEXT_TOO_LONG; also when offsets of more than 4,000,000
            code points in all are asked for.
    """
    check_range(len(texts), 1, MAX_TOKENIZE_TEXTS, "texts", "number of texts")
    for index, text in enumerate(texts):
        check_length(text, MAX_TOKENIZE_CHARACTERS, f"texts[{index}]")
        if not text:
            raise InvalidInput("the text is empty", reason="EMPTY_TEXT", field=f"texts[{index}]")
    if want_offsets and sum(map(len, texts)) > MAX_OFFSET_CHARACTERS:
        raise InvalidInput(
            f"offsets of at most {MAX_OFFSET_CHARACTERS} characters fit into one answer; send fewer texts",
            reason="TEXT_TOO_LONG",
            field="texts",
            metadata={"limit": str(MAX_OFFSET_CHARACTERS)},
        )


def check_answer_size(vectors: int, dimension: int, field: str) -> None:
    """Raises InvalidInput OUT_OF_RANGE when so many vectors do not fit into one answer."""
    check_range(vectors, 1, MAX_COMPONENTS // dimension, field, "number of vectors in one answer")


def has_visible(text: str, start: int = 0, end: int | None = None) -> bool:
    """Whether a character in [start, end) is neither a separator nor a control or format character."""
    return any(
        not unicodedata.category(text[i]).startswith(("Z", "Cc", "Cf"))
        for i in range(start, len(text) if end is None else end)
    )
