"""Token ids and offsets under a prefix."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inference_svc.triton.errors import StartError
from inference_svc.triton.prefixed_tokenizer import PrefixedTokenizer
from tests.triton.frida_reference import DOCUMENT_PREFIX, QUERY_PREFIX, FridaReference

PREFIXES = (QUERY_PREFIX, DOCUMENT_PREFIX)
TEXTS = (
    "Доза 7 мЗв",
    "  \n two  spaces \t and end  ",
    "😀👨‍👩‍👧 é e\u0301\u0302 и\u0306 й",
    "\u0301starts with a mark",
    "</s><pad> (7.5) <unk>",
    "日本語, עברית, ﬁ, ²",
    "\u200b",
    "слово" * 200,
)


def edited(path: Path, target: Path, edit: Callable[[dict[str, Any]], None] = lambda _: None) -> Path:
    described = json.loads((path / "tokenizer.json").read_text("utf-8"))
    edit(described)
    target.write_text(json.dumps(described), "utf-8")
    return target


def roberta(described: dict[str, Any]) -> None:
    described["post_processor"] = {
        "type": "RobertaProcessing",
        "sep": ["</s>", 2],
        "cls": ["<s>", 1],
        "trim_offsets": True,
        "add_prefix_space": False,
    }


def nfc(described: dict[str, Any]) -> None:
    described["normalizer"] = {"type": "NFC"}


EDITS = {"template": lambda _: None, "roberta": roberta, "composing": nfc}


@pytest.mark.parametrize("kind", EDITS)
@pytest.mark.parametrize("text", TEXTS)
def test_offsets_hold_every_visible_character(tiny_frida: Path, tmp_path: Path, kind: str, text: str) -> None:
    tokenizer = PrefixedTokenizer(edited(tiny_frida, tmp_path / "t.json", EDITS[kind]), PREFIXES, 10_000)
    ids, offsets = tokenizer.ids_with_offsets(DOCUMENT_PREFIX, text)
    assert len(ids) == len(offsets) + tokenizer.prefix_tokens(DOCUMENT_PREFIX)
    assert ids.tolist() == tokenizer.ids([(DOCUMENT_PREFIX, text)])[0].tolist()
    assert tokenizer.counts(DOCUMENT_PREFIX, [text]) == [len(offsets)]
    found = offsets.tolist()
    assert [start for start, _ in found] == sorted(start for start, _ in found)
    assert [end for _, end in found] == sorted(end for _, end in found)
    covered = {place for start, end in found for place in range(start, end)}
    for place, character in enumerate(text):
        assert character.isspace() or place in covered
    for start, end in found:
        assert 0 <= start <= end <= len(text)
        assert not text[start:end][:1].isspace() or text[start:end].isspace()


def test_ids_and_specials_are_those_of_transformers(
    tiny_frida: Path, frida_reference: FridaReference
) -> None:
    tokenizer = PrefixedTokenizer(tiny_frida / "tokenizer.json", PREFIXES, 10_000)
    for prefix in PREFIXES:
        for text in TEXTS:
            if "</s>" not in text:
                (ids,) = tokenizer.ids([(prefix, text)])
                expected = frida_reference.tokenizer(prefix + text, truncation=False)["input_ids"]
                assert [*tokenizer.before, *ids, *tokenizer.after] == expected
    assert tokenizer.overhead(DOCUMENT_PREFIX) == 2 + tokenizer.prefix_tokens(DOCUMENT_PREFIX)


def test_an_empty_text_has_no_token(tiny_frida: Path) -> None:
    tokenizer = PrefixedTokenizer(tiny_frida / "tokenizer.json", PREFIXES, 10_000)
    assert tokenizer.counts(DOCUMENT_PREFIX, ["", "a"]) == [0, 1]
    assert tokenizer.ids_with_offsets(DOCUMENT_PREFIX, "")[1].shape == (0, 2)


def test_control_tokens_that_the_file_leaves_unmarked_are_text_too(tiny_frida: Path, tmp_path: Path) -> None:
    def unmark(described: dict[str, Any]) -> None:
        for added in described["added_tokens"]:
            added["special"] = False

    plain = PrefixedTokenizer(tiny_frida / "tokenizer.json", PREFIXES, 10_000)
    unmarked = PrefixedTokenizer(edited(tiny_frida, tmp_path / "t.json", unmark), PREFIXES, 10_000)
    text = "a </s> b<pad>"
    assert unmarked.counts(QUERY_PREFIX, [text]) == plain.counts(QUERY_PREFIX, [text])
    assert 2 not in unmarked.ids([(QUERY_PREFIX, text)])[0]


def test_what_does_not_fit_together_is_refused(tiny_frida: Path, tmp_path: Path) -> None:
    path = tiny_frida / "tokenizer.json"
    with pytest.raises(StartError, match="another model"):
        PrefixedTokenizer(path, PREFIXES, 100)
    with pytest.raises(StartError, match="ends with a space"):
        PrefixedTokenizer(path, ["query:"], 10_000)
    damaged = tmp_path / "tokenizer.json"
    damaged.write_text('{"model": 1}')
    with pytest.raises(StartError, match="not a tokenizer"):
        PrefixedTokenizer(damaged, PREFIXES, 10_000)
    assert PrefixedTokenizer(path, ["", "a: "], 10_000).prefix_tokens("") == 0
