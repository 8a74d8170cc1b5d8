"""What goes wrong in a model behind Triton, in words that are safe to log and to send."""

from __future__ import annotations


class StartError(Exception):
    """The model cannot start; the message says what is missing or wrong and where it should come from."""


class RequestError(Exception):
    """One request cannot be answered; its neighbours in the batch can.

    `str()` is the text of Triton's error, "[REASON] message", from which the caller makes its own error.

    Args:
        reason: name of an ErrorReason (radref/api/common/v1/errors.proto) without prefix.
        message: for people; never holds text of the request.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(f"[{reason}] {message}")
        self.reason = reason
