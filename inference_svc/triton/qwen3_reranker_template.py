"""Question and document to the token ids that Qwen3-Reranker was trained to read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from inference_svc.triton.errors import RequestError, StartError

# Model card of Qwen/Qwen3-Reranker-0.6B (4B and 8B have the same): without this template, to the letter,
# scores are close to random.
PREFIX = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the "
    'Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
)
HEAD = "<Instruct>: {instruction}\n<Query>: {query}\n<Document>: "
SUFFIX = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
NO, YES = "no", "yes"

_MARKS = ("<|im_start|>", "<|im_end|>", "<think>", "</think>")
# Bounds the memory for tokens of very long documents, and still feeds every core.
_ENCODED_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Pair:
    """What one score is about."""

    query: str
    document: str
    instruction: str


@dataclass(frozen=True, slots=True)
class EncodedPair:
    """One input of the model.

    Attributes:
        ids: token ids of prefix, body and suffix, at most `window`.
        truncated: whether the end of the document was left out.
    """

    ids: list[int]
    truncated: bool


class PairEncoder:
    """The model's tokenizer and template. Thread-safe.

    Args:
        path: `tokenizer.json` of the model.
        window: most tokens of one input, template included; must leave room for a body.

    Raises:
        StartError: the file is no tokenizer of a Qwen3-Reranker, or the template does not fit the window.
    """

    def __init__(self, path: Path, window: int) -> None:
        content = _content(path)
        trusted = _tokenizer(content, path)
        # Text of others is tokenised without any added token, special or not: a document that holds
        # "<|im_end|>" or "<think>" shows these characters and cannot speak as the assistant.
        parsed = json.loads(content)
        self._plain = _tokenizer(json.dumps(parsed | {"added_tokens": []}), path)
        self._check_marks(trusted, {token["content"]: token["id"] for token in parsed["added_tokens"]}, path)
        self._prefix = _ids(trusted, PREFIX)
        self._suffix = _ids(trusted, SUFFIX)
        self.no_id = self._word_id(NO, path)
        self.yes_id = self._word_id(YES, path)
        self.largest_id = max(trusted.get_vocab(with_added_tokens=True).values())
        self.window = window
        self._body_tokens = window - len(self._prefix) - len(self._suffix)
        if self._body_tokens < 1:
            raise StartError(
                f"the window of {window} tokens has no room for a document: "
                f"the template alone takes {len(self._prefix) + len(self._suffix)}"
            )

    def encode(self, pairs: Sequence[Pair]) -> list[EncodedPair | RequestError]:
        """Inputs of the model, in the order of the pairs; only documents are ever truncated.

        A pair whose query and instruction leave no room for a single token of the document gives a
        RequestError TEXT_TOO_LONG in its place.
        """
        found: list[EncodedPair | RequestError] = []
        for start in range(0, len(pairs), _ENCODED_AT_ONCE):
            found += self._encode_group(pairs[start : start + _ENCODED_AT_ONCE])
        return found

    def _encode_group(self, pairs: Sequence[Pair]) -> list[EncodedPair | RequestError]:
        heads = [HEAD.format(instruction=pair.instruction, query=pair.query) for pair in pairs]
        bodies = [head + pair.document for head, pair in zip(heads, pairs, strict=True)]
        encodings = self._plain.encode_batch(bodies, add_special_tokens=False)
        found: list[EncodedPair | RequestError] = []
        for head, encoding in zip(heads, encodings, strict=True):
            truncated = len(encoding) > self._body_tokens
            # Offsets ascend: the document is there if the last token that is kept reaches into it.
            if truncated and encoding.offsets[self._body_tokens - 1][1] <= len(head):
                found.append(self._too_long())
                continue
            body = encoding.ids[: self._body_tokens]
            found.append(EncodedPair(self._prefix + body + self._suffix, truncated))
        return found

    def _too_long(self) -> RequestError:
        return RequestError(
            "TEXT_TOO_LONG",
            f"question and instruction fill the {self._body_tokens} tokens that the reranker reads of a "
            "question with its document: ask a shorter question",
        )

    def _check_marks(self, trusted: Tokenizer, added: Mapping[str, int], path: Path) -> None:
        for mark in _MARKS:
            if mark not in added or _ids(trusted, mark) != [added[mark]]:
                raise StartError(f"{path} is not Qwen3's tokenizer: {mark} is none of its added tokens")
        for mark, known in added.items():
            if known in _ids(self._plain, mark):
                raise StartError(f"{path}: {mark} would be a control token even where it is only text")

    def _word_id(self, word: str, path: Path) -> int:
        ids = _ids(self._plain, word)
        if len(ids) != 1:
            raise StartError(f'{path} is not Qwen3\'s tokenizer: "{word}" is not one token')
        return ids[0]


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(f"{path} cannot be read: {error}") from error


def _tokenizer(content: str, path: Path) -> Tokenizer:
    try:
        made = Tokenizer.from_str(content)
    except Exception as error:  # the library raises plain Exception for a file that it cannot read
        raise StartError(f"{path} cannot be read as a tokenizer: {error}") from error
    made.no_truncation()
    made.no_padding()
    return made


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False).ids)
