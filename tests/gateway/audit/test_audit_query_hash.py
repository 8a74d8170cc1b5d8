"""The keyed hash of questions and the file of its key."""

from __future__ import annotations

import hashlib
import os
import stat
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.audit.key_file import is_private, read_key, read_or_make_key
from gateway.audit.query_hash import MAX_CHARACTERS, QueryHash
from gateway.question import accepted_question
from radref.errors import PreconditionFailed
from tests.gateway.audit.audit_kit import KEY


@given(st.text(max_size=200))
def test_the_hash_is_never_one_without_the_key(question: str) -> None:
    made = QueryHash(KEY).of(question)
    assert len(made) == 64
    data = question.encode()
    assert made not in {hashlib.sha256(data).hexdigest(), hashlib.sha256(KEY + data).hexdigest()}
    assert made != QueryHash(b"l" * 32).of(question)
    assert made == QueryHash(KEY).of(question)


def test_equal_questions_match_however_they_were_typed() -> None:
    typed = "Йодные  контрасты?\n"
    others = (" Йодные контрасты? ", unicodedata.normalize("NFD", typed), "Йодные\x00контрасты?")
    assert {QueryHash(KEY).of(text) for text in others} == {QueryHash(KEY).of(typed)}
    assert QueryHash(KEY).of(typed) == QueryHash(KEY).of(accepted_question(typed, 100))
    assert QueryHash(KEY).of("Йодные контрасты!") != QueryHash(KEY).of(typed)


def test_a_text_that_is_no_question_has_no_hash() -> None:
    assert QueryHash(KEY).of("a" * MAX_CHARACTERS)
    assert QueryHash(KEY).of("a" * (MAX_CHARACTERS + 1)) == ""


def test_a_missing_key_is_made_once_for_this_user_only(tmp_path: Path) -> None:
    path = tmp_path / "audit.key"
    mask = os.umask(0)
    try:
        with ThreadPoolExecutor(8) as threads:
            keys = list(threads.map(lambda _: read_or_make_key(path), range(8)))
    finally:
        os.umask(mask)
    assert len(set(keys)) == 1
    assert len(keys[0]) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["audit.key"]
    assert read_or_make_key(path) == keys[0]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o610])
def test_a_key_that_others_may_see_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    path.write_bytes(KEY)
    path.chmod(mode)
    with pytest.raises(PreconditionFailed, match=f"mode {mode:04o}.*chmod 600"):
        read_key(path)
    path.chmod(0o400)
    assert read_key(path) == KEY


@pytest.mark.parametrize(
    ("mode", "owner", "user", "private"),
    [
        (0o600, 10001, 10001, True),
        (0o440, 10001, 10001, False),
        # A Secret in Kubernetes, for a pod with fsGroup.
        (0o440, 0, 10001, True),
        (0o640, 0, 10001, True),
        (0o460, 0, 10001, False),
        (0o450, 0, 10001, False),
        (0o444, 0, 10001, False),
        # Of root, for root: its group has no business there.
        (0o440, 0, 0, False),
        (0o400, 0, 0, True),
    ],
)
def test_roots_file_may_be_readable_by_the_group_it_was_given_to(
    mode: int, owner: int, user: int, private: bool
) -> None:
    assert is_private(mode, owner=owner, user=user) is private


@pytest.mark.parametrize("content", [b"", b"k" * 31, b"k" * 5000])
def test_a_key_of_the_wrong_length_is_refused_without_showing_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(PreconditionFailed, match="32 to 4096 random bytes") as caught:
        read_or_make_key(path)
    assert "kkk" not in str(caught.value)


def test_a_key_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PreconditionFailed, match="no-file cannot be read: No such file"):
        read_key(tmp_path / "no-file")
    with pytest.raises(PreconditionFailed, match="cannot be read"):
        read_key(tmp_path)
    with pytest.raises(PreconditionFailed, match="cannot be made"):
        read_or_make_key(tmp_path / "no-folder" / "key")
