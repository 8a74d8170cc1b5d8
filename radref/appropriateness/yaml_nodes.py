"""A YAML file as nodes that know their lines, without what a file for curators never needs.

Anchors, aliases, tags and second documents are refused: they make one line mean another, and a few lines can
unfold into gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from radref.appropriateness.rules import unseen_character

# Far deeper than any such file; keeps the composer's recursion away from Python's limit.
_MAX_DEPTH = 20
# libyaml where the installation has it: ten times faster, the same lines.
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True, order=True)
class LineProblem:
    """What is wrong in a line, counted from 1; the message is for a curator, without a full stop."""

    line: int
    message: str


def compose(text: str) -> tuple[yaml.Node | None, list[LineProblem]]:
    """The document's root, and what is wrong with the file as YAML; None where it cannot be read further.

    Args:
        text: the decoded file; line breaks of any kind.
    """
    text, found = _without_unseen(text.replace("\r\n", "\n").replace("\r", "\n"))
    refused = list(_refused(text))
    if refused:
        return None, [*found, *refused]
    root = yaml.compose(text, Loader=_LOADER)
    if root is None:
        found.append(LineProblem(1, "the file is empty"))
    return root, found


def line_of(node: yaml.Node) -> int:
    """The line in which a node begins, from 1."""
    return int(node.start_mark.line) + 1


def _without_unseen(text: str) -> tuple[str, list[LineProblem]]:
    """`text` with blanks for characters nobody sees: some of them count as line breaks in YAML."""
    lines = text.split("\n")
    found: list[LineProblem] = []
    for index, line in enumerate(lines):
        cleared = line.replace("\t", " ")
        while letter := unseen_character(cleared):
            found.append(LineProblem(index + 1, f"holds the invisible character U+{ord(letter):04X}"))
            cleared = cleared.replace(letter, " ")
            lines[index] = lines[index].replace(letter, " ")
    return "\n".join(lines), found


def _refused(text: str) -> Iterator[LineProblem]:
    depth = documents = 0
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            line = event.start_mark.line + 1 if event.start_mark else 1
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    yield LineProblem(line, 'a second document begins here; take the line "---" out')
                    return
            elif isinstance(event, yaml.AliasEvent):
                yield LineProblem(
                    line, f'"*{event.anchor}" refers to another place; write the text out, or in quotes'
                )
            elif isinstance(event, yaml.NodeEvent):
                if event.anchor:
                    yield LineProblem(
                        line, f'"&{event.anchor}" is an anchor; take it out, or put the text in quotes'
                    )
                tag = getattr(event, "tag", None)
                if tag:
                    yield LineProblem(line, f'"{tag}" is a tag; take it out, or put the text in quotes')
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > _MAX_DEPTH:
                    yield LineProblem(line, "lists and keys are nested too deeply")
                    return
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        said = ", ".join(part for part in (exc.problem, exc.context) if part)
        if mark and exc.context_mark and exc.context_mark.line < mark.line:
            said = f"{said} that begins in line {exc.context_mark.line + 1}"
        yield LineProblem(mark.line + 1 if mark else 1, f"is not YAML: {said}")
