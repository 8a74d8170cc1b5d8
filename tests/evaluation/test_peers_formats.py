from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.peers.formats import (
    DOCUMENTS,
    META,
    PARENTS,
    Document,
    Export,
    Parent,
    Result,
    read_export,
    write_export,
)
from radref.errors import InvalidInput

EXPORT = Export(
    documents=(Document("d", "Заголовок", "safety", "ru", "# A\n\nline\u2028separator\x85 5 мЗв"),),
    parents=(Parent("c" * 20, "d", 0, "line\u2028separator", ((0, 4), (5, 14))),),
    results=(Result("q1", ("c" * 20,)), Result("q2", ())),
    meta={"documents": 1},
)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write_export(tmp_path / "new", EXPORT)
    assert read_export(tmp_path / "new") == EXPORT


def test_a_line_is_one_object(tmp_path: Path) -> None:
    write_export(tmp_path, EXPORT)
    lines = (tmp_path / DOCUMENTS).read_text(encoding="utf-8").split("\n")
    assert len(lines) == 2
    assert lines[1] == ""


def test_an_unfinished_export_is_refused(tmp_path: Path) -> None:
    write_export(tmp_path, EXPORT)
    (tmp_path / META).unlink()
    with pytest.raises(InvalidInput, match="no finished export"):
        read_export(tmp_path)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    write_export(tmp_path, EXPORT)
    path = tmp_path / PARENTS
    path.write_text(path.read_text(encoding="utf-8") + '{"text": "x"}\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"parents\.jsonl, line 2"):
        read_export(tmp_path)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"parents\.jsonl, line 1"):
        read_export(tmp_path)


def test_an_empty_export_is_refused(tmp_path: Path) -> None:
    write_export(tmp_path, Export((), (), (), {}))
    with pytest.raises(InvalidInput, match="holds no document"):
        read_export(tmp_path)
