"""Every bad file gets its own clear answer, and every readable one is read right."""

from __future__ import annotations

import pytest

from ingest_svc.document import render
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file
from radref.api.common.v1.errors_pb2 import ErrorReason
from radref.errors import InvalidInput
from tests.bad_files import MAKERS, BadFile

FILES = [maker() for maker in MAKERS]
REFUSED = [file for file in FILES if file.reason]
READABLE = [file for file in FILES if not file.reason]


@pytest.mark.parametrize("bad", REFUSED, ids=lambda bad: bad.file_name)
def test_refused_with_its_reason(bad: BadFile) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_file(bad.data, bad.file_name, ParseLimits())
    assert caught.value.reason == bad.reason
    assert ErrorReason.Value(f"ERROR_REASON_{bad.reason}")
    message = caught.value.message
    assert message.endswith(".")
    # Error messages reach logs and screens: no text of the file in them.
    for phrase in ("Please log in", "archive opens", "рентгенолаборант", "AAAAAAAA", "lukewarm water"):
        assert phrase not in message


@pytest.mark.parametrize("bad", READABLE, ids=lambda bad: bad.file_name)
def test_read_without_loss(bad: BadFile) -> None:
    text, _ = render(parse_file(bad.data, bad.file_name, ParseLimits()).blocks)
    assert bad.text in " ".join(text.split()).lower()
    assert "\ufffd" not in text
