"""Loads a published `tokenizer.json` so that special tokens written in a text are only characters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from radref.errors import Internal, Unavailable

BOS, EOS, PAD, UNK, MASK = "<s>", "</s>", "<pad>", "<unk>", "<mask>"
# What is done to the file; part of the tokenizer's fingerprint.
PIPELINE = "as-published,specials-unmatchable/1"


def load_plain_tokenizer(path: Path) -> tuple[Tokenizer, Mapping[str, int]]:
    """A tokenizer without special tokens, truncation and padding, and the ids of the special tokens.

    A published file splits a literal `<s>` off a text and reads it as the special token; and even without
    that a Unigram model picks it, because special pieces have the best score of all. So the special tokens
    leave the list of added tokens, and their pieces get a leading space, which no word holds.

    Raises:
        Unavailable: the file cannot be read.
        Internal: it is no tokenizer, lacks `<s>` or `</s>`, or still reads a literal one as special.
    """
    try:
        body = json.loads(path.read_bytes())
    except OSError as exc:
        raise Unavailable(f"the embedder's tokenizer cannot be read: {path}: {exc.strerror}") from exc
    except ValueError as exc:
        raise Internal(f"the embedder's tokenizer is no JSON file: {path}") from exc
    try:
        specials, kept = _without_specials(body)
        tokenizer = Tokenizer.from_str(json.dumps(body))
    except Exception as exc:  # `tokenizers` raises plain Exception
        raise Internal(f"the embedder's tokenizer cannot be loaded: {path} ({type(exc).__name__})") from exc
    missing = [token for token in (BOS, EOS) if token not in specials]
    if missing:
        raise Internal(f"the embedder's tokenizer {path} has no {' and no '.join(missing)}")
    if any(tokenizer.token_to_id(token) != number for token, number in kept.items()):
        raise Internal(f"the embedder's tokenizer {path} numbers its added tokens in a way not understood")
    _check_literals(tokenizer, specials, path)
    return tokenizer, specials


def _without_specials(body: dict[str, Any]) -> tuple[dict[str, int], dict[str, int]]:
    """Changes the parsed file; ids of the special tokens and of the added tokens that stay."""
    body["truncation"] = body["padding"] = body["post_processor"] = None
    added = {token["content"]: token for token in body.get("added_tokens") or ()}
    specials = {name: int(token["id"]) for name, token in added.items() if token.get("special")}
    pieces = dict(_pieces(body["model"]))
    for name in (BOS, EOS, PAD, UNK, MASK):
        if name in pieces:
            specials.setdefault(name, pieces[name])
        elif name in added:
            specials.setdefault(name, int(added[name]["id"]))
    stay = [token for name, token in added.items() if name not in specials]
    body["added_tokens"] = stay
    _rename(body["model"], specials)
    return specials, {token["content"]: int(token["id"]) for token in stay}


def _pieces(model: dict[str, Any]) -> Iterator[tuple[str, int]]:
    vocabulary = model["vocab"]
    if isinstance(vocabulary, dict):
        yield from vocabulary.items()
    else:
        for number, (piece, _) in enumerate(vocabulary):
            yield piece, number


def _rename(model: dict[str, Any], specials: Mapping[str, int]) -> None:
    # A model that names its unknown token (Unigram numbers it) must find it; a literal one is unknown anyway.
    names = specials.keys() - {model.get("unk_token")}
    vocabulary = model["vocab"]
    if isinstance(vocabulary, dict):
        model["vocab"] = {
            f" {piece}" if piece in names else piece: number for piece, number in vocabulary.items()
        }
    else:
        model["vocab"] = [[f" {piece}" if piece in names else piece, score] for piece, score in vocabulary]


def _check_literals(tokenizer: Tokenizer, specials: Mapping[str, int], path: Path) -> None:
    forbidden = {number for name, number in specials.items() if name != UNK}
    for name in specials:
        for text in (name, f"a {name} b", f"a{name}b"):
            if forbidden & set(tokenizer.encode(text, add_special_tokens=False).ids):
                raise Internal(f"the embedder's tokenizer {path} reads a literal {name} as a special token")
