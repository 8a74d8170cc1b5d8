"""Queries and radref commands of runbooks and docs/operations.md can be typed at night: they exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from evaluation.bench.command import bench
from evaluation.cli import app as evaluation
from radref.cli.main import app
from tests.monitoring.known_metrics import known_series
from tests.monitoring.queries import ROOT, Asked

PAGES = [*sorted((ROOT / "docs/runbooks").glob("*.md")), ROOT / "docs/operations.md"]
KNOWN = known_series()
_bench = typer.Typer()
_bench.command()(bench)
PLUGINS = {"eval": evaluation, "bench": _bench}
# Of the cluster's own monitoring, said so on the page.
FOREIGN = {"container_cpu_cfs_throttled_seconds_total"}


def blocks(page: str, language: str) -> Iterator[str]:
    for block in re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        yield from block.strip().splitlines()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_queries_are_over_series_that_exist(path: Path) -> None:
    for query in blocks(path.read_text("utf-8"), "promql"):
        for selector in Asked("runbook", query, "panel").selectors():
            assert selector.name in {*KNOWN, *FOREIGN}, f"no such metric: {selector.name}"
            if selector.name in KNOWN:
                labels = {matcher.name for matcher in selector.matchers.matchers}
                assert labels <= KNOWN[selector.name].labels, f"{selector.name} has no such label: {labels}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_radref_commands_exist(path: Path) -> None:
    page = path.read_text("utf-8")
    lines = [*blocks(page, "sh"), *re.findall(r"`(radref [^`]+)`", page)]
    for line in (line.split("|")[0] for line in lines if line.startswith("radref ")):
        _resolve(shlex.split(line.replace("...", "x"))[1:])


def test_what_does_not_exist_is_found() -> None:
    assert "radref_no_such_metric" not in KNOWN
    with pytest.raises(AssertionError):
        _resolve(["kb", "no-such-command"])


def _resolve(words: list[str]) -> None:
    """Walks down the commands; options must exist too."""
    # Two are found by their entry points.
    plugin = PLUGINS.get(words[0])
    command, words = typer.main.get_command(plugin or app), words[plugin is not None :]
    while hasattr(command, "commands"):
        assert words, "a group is no command"
        assert words[0] in command.commands, f"no such command: {words}"
        command, words = command.commands[words[0]], words[1:]
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known, f"no such option: {words}"
