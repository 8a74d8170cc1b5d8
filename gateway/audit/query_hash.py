"""A hash of questions that only the holder of the key can try guesses on. Pure."""

from __future__ import annotations

import hashlib
import hmac

from gateway.question import tidied

# The highest value of gateway.max_query_characters: a longer text was never a question.
MAX_CHARACTERS = 20_000


class QueryHash:
    """HMAC-SHA256 of the accepted question, so that equal questions have equal hashes.

    Questions are few and short: whoever had a plain hash could find them by trying.

    Args:
        key: secret, at least 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def of(self, question: str) -> str:
        """64 hexadecimal digits; "" for a text that is too long to be a question."""
        if len(question) > MAX_CHARACTERS:
            return ""
        return hmac.new(self._key, tidied(question).encode(), hashlib.sha256).hexdigest()
