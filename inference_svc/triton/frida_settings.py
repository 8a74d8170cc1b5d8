"""Settings that FRIDA and its tokenizer share, from the parameters of their config.pbtxt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from inference_svc.triton.errors import StartError
from inference_svc.triton.parameters import Parameters
from inference_svc.triton.prefixed_tokenizer import PrefixedTokenizer
from inference_svc.triton.weights import ModelDirectory, fingerprint, open_model_directory

DIRECTORY_VARIABLE = "RADREF_TRITON_FRIDA_DIR"
POOLINGS = ("cls", "mean")
# A prefix and special tokens take some; below this there is no room for a text.
MIN_WINDOW = 32
# T5's positions are relative and have no end, but attention grows with the square.
MAX_WINDOW = 8192


@dataclass(frozen=True, slots=True)
class FridaSettings:
    """What changes the vectors, and how much is computed at once.

    Attributes:
        query_prefix, document_prefix: put before questions and documents; empty or ending with a space.
        pooling: of whole texts: "cls" = the first token, "mean" = all tokens.
        window: tokens read at once, with prefix and special tokens, 32-8192.
        stride: tokens between the starts of neighbouring windows of a long text, 1 to less than what the
            window has room for.
        batch_tokens: padded tokens of one pass through the model, >= window.
    """

    query_prefix: str
    document_prefix: str
    pooling: str
    window: int
    stride: int
    batch_tokens: int

    @classmethod
    def read(cls, parameters: Parameters) -> Self:
        """Reads the parameters of both models.

        Raises:
            StartError: one is missing or out of range.
        """
        window = parameters.whole("window", MIN_WINDOW, MAX_WINDOW)
        return cls(
            query_prefix=parameters.text("query_prefix"),
            document_prefix=parameters.text("document_prefix"),
            pooling=parameters.choice("pooling", POOLINGS),
            window=window,
            stride=parameters.whole("stride", 1, window - 1),
            batch_tokens=parameters.whole("batch_tokens", window, 1 << 20),
        )

    def open_tokenizer(self, directory: ModelDirectory) -> PrefixedTokenizer:
        """The tokenizer of a directory with both prefixes.

        Raises:
            StartError: it cannot be read, or prefixes, window and stride do not fit together.
        """
        prefixes = (self.query_prefix, self.document_prefix)
        tokenizer = PrefixedTokenizer(directory.tokenizer, prefixes, int(directory.config["vocab_size"]))
        room = self.window - max(map(tokenizer.overhead, prefixes))
        if room <= self.stride:
            raise StartError(
                f"window {self.window} has room for {room} tokens beside prefix and special tokens: "
                f"stride ({self.stride}) must be less"
            )
        return tokenizer

    def fingerprint(self, directory: ModelDirectory) -> str:
        """16 hexadecimal digits over weights, tokenizer, prefixes, pooling, window and stride."""
        return fingerprint(
            directory.content_digest(),
            self.query_prefix,
            self.document_prefix,
            self.pooling,
            str(self.window),
            str(self.stride),
        )


def open_frida(parameters: Parameters) -> ModelDirectory:
    """The directory that the environment or the parameters name.

    Raises:
        StartError: none is named, or it holds no T5 encoder.
    """
    path = parameters.directory("model_dir", DIRECTORY_VARIABLE)
    return open_model_directory(path, ("T5EncoderModel",), origin="ai-forever/FRIDA")
