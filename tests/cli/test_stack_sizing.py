"""`radref up` sizes admission to this machine, unless the settings say otherwise."""

import os
from pathlib import Path

import pytest

from radref.cli.stack import StackError, sized_to_this_machine

NAME = "RADREF_GATEWAY_MAX_MODEL_CALLS"


@pytest.mark.parametrize(("processors", "places"), [(1, "1"), (2, "1"), (3, "1"), (8, "4"), (None, "1")])
def test_one_answer_for_two_processors(
    monkeypatch: pytest.MonkeyPatch, processors: int | None, places: str
) -> None:
    monkeypatch.delenv("RADREF_CONFIG", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    assert sized_to_this_machine(None) == {NAME: places}


@pytest.mark.parametrize(
    ("text", "sized"),
    [
        ("gateway: {rerank: false}", True),
        ("gateway: {max_model_calls: 0}", False),
        ("inference: {embedder: {backend: triton}}", False),
    ],
)
@pytest.mark.parametrize("named_by", ["option", "environment"])
def test_who_names_models_or_the_limit_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, sized: bool, named_by: str
) -> None:
    path = tmp_path / "radref.yaml"
    path.write_text(text)
    monkeypatch.delenv("RADREF_CONFIG", raising=False)
    if named_by == "environment":
        monkeypatch.setenv("RADREF_CONFIG", str(path))
    assert (NAME in sized_to_this_machine(path if named_by == "option" else None)) is sized


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="cannot read"):
        sized_to_this_machine(tmp_path / "missing.yaml")
