"""Document ids from paths: valid, readable, and apart for different paths whatever lies beside them."""

import re
import unicodedata
from pathlib import PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from radref.cli.path_ids import path_document_id
from radref.slug import slug

# What a file name on Linux may hold, undecodable bytes included.
NAMES = st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=60).filter(
    lambda name: name not in (".", "..")
) | st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True).filter(lambda name: name not in (".", ".."))
lean = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: PurePosixPath(*parts))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("dose-limits.md", "dose-limits.md"),
        ("README.md", "README.md"),
        ("mri/zones/zone_4.html", "mri--zones--zone_4.html"),
        ("Приказ № 5.docx", "prikaz-5-docx--"),
        ("a b.md", "a-b-md--"),
        ("a--b.md", "a-b-md--"),
        ("日本.pdf", "pdf--"),
        ("日本", "document--"),
    ],
)
def test_ids_read_like_the_path(path: str, expected: str) -> None:
    made = path_document_id(PurePosixPath(path))
    assert made == expected or re.fullmatch(re.escape(expected) + "[0-9a-f]{10}", made)


@lean
@given(PATHS)
def test_every_path_gives_a_valid_id(path: PurePosixPath) -> None:
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,128}", path_document_id(path))


@lean
@given(PATHS, PATHS)
def test_different_paths_give_different_ids(one: PurePosixPath, other: PurePosixPath) -> None:
    ids = {path_document_id(one), path_document_id(other)}
    assert (len(ids) == 1) == (nfc(one) == nfc(other))


def nfc(path: PurePosixPath) -> list[str]:
    return [unicodedata.normalize("NFC", part) for part in path.parts]


def test_paths_that_only_look_alike_stay_apart() -> None:
    paths = ["a/b.md", "a--b.md", "a-b.md", "a b.md", "A b.md", "a_b.md", "a.b.md", "a/b/.md", "ab.md"]
    assert len({path_document_id(PurePosixPath(path)) for path in paths}) == len(paths)


def test_the_form_of_the_letters_does_not_matter() -> None:
    assert path_document_id(PurePosixPath("и\u0306.md")) == path_document_id(PurePosixPath("й.md"))


@lean
@given(st.text(max_size=80), st.integers(1, 40))
def test_a_slug_is_plain_and_short(text: str, length: int) -> None:
    made = slug(text, length)
    assert len(made) <= length
    assert re.fullmatch(r"([a-z0-9]+(-[a-z0-9]+)*)?", made)
