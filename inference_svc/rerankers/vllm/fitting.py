"""Cuts documents to a number of tokens that only the server can count."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

# Bounds what is sent for counting. Prose has 3 to 5 characters a token; only runs of white space or of one
# sign have more than this, and of those little is lost.
_CHARACTERS_PER_TOKEN = 16
# A cut that leaves less than this share of the room unused is good enough, and is found in a few counts.
_GOOD = 0.98
_ROUNDS = 8

Count = Callable[[str], Awaitable[int]]


def surely_fits(text: str, tokens: int) -> bool:
    """Whether the text fits whatever the tokenizer: no token is shorter than a byte."""
    return len(text) <= tokens and len(text.encode("utf-8")) <= tokens


async def fitted(text: str, tokens: int, count: Count) -> tuple[str, bool]:
    """The start of the text that has at most `tokens` tokens, and whether that is not all of it.

    Args:
        text: at least one character.
        tokens: room, >= 4: one character always fits.
        count: tokens of a text.
    """
    if surely_fits(text, tokens):
        return text, False
    most = tokens * _CHARACTERS_PER_TOKEN
    cut = len(text) > most
    text = text[:most]
    total = await count(text)
    if total <= tokens:
        return text, cut
    return text[: await _length(text, total, tokens, count)], True


async def _length(text: str, total: int, tokens: int, count: Count) -> int:
    """Characters of a start that fits: interpolation between one that fits and one that does not."""
    low, low_tokens = 0, 0
    high, high_tokens = len(text), total
    for _ in range(_ROUNDS):
        # Aiming a little short saves most of the tries that would be a little too long.
        aim = (tokens - low_tokens) * _GOOD / (high_tokens - low_tokens)
        guess = min(max(low + int((high - low) * aim), low + 1), high - 1)
        if guess <= low:
            break
        found = await count(text[:guess])
        if found <= tokens:
            low, low_tokens = guess, found
            if found >= tokens * _GOOD:
                break
        else:
            high, high_tokens = guess, found
    while low == 0 and high > 1:
        high //= 2
        if surely_fits(text[:high], tokens) or await count(text[:high]) <= tokens:
            low = high
    return max(low, 1)
