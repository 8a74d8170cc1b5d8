"""Reads keys, texts and numbers off YAML nodes, and writes down what is wrong instead of stopping."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import yaml

from radref.appropriateness.rules import tidy
from radref.appropriateness.yaml_nodes import LineProblem, line_of

_TAG = "tag:yaml.org,2002:"
_KINDS = {
    "bool": "yes or no",
    "int": "a number",
    "float": "a number",
    "timestamp": "a date",
    "null": "nothing",
}
# How a text goes on that an unquoted comma has cut.
_CUT = re.compile(r"(or|and|или|и) ")


class NodeReader:
    """What was found wrong so far, by line.

    `where` names the place for the curator, e.g. 'title of variant "knee-ottawa"'.
    """

    def __init__(self) -> None:
        self.problems: list[LineProblem] = []

    def note(self, node: yaml.Node, message: str) -> None:
        """Writes a problem down."""
        self.problems.append(LineProblem(line_of(node), message))

    def keys(
        self, node: yaml.Node, where: str, required: Collection[str], optional: Collection[str] = ()
    ) -> dict[str, yaml.Node]:
        """The values of the keys that are known; what is missing, unknown or there twice is noted."""
        if not isinstance(node, yaml.MappingNode):
            self.note(node, f"{where} must be keys with values, as in title: ...")
            return {}
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if name in found:
                self.note(key, f'{where} has the key "{name}" twice, first in line {line_of(found[name])}')
            elif name not in required and name not in optional:
                known = ", ".join((*required, *optional))
                self.note(key, f'{where} has the unknown key "{name[:40]}" (known: {known})')
            else:
                found[name] = value
        for name in required:
            if name not in found:
                self.note(node, f'{where} has no "{name}"')
        return found

    def called(self, node: yaml.Node, kind: str, otherwise: str) -> str:
        """How to name a node for the curator: by its id if it has one, e.g. 'topic "knee"'; notes nothing."""
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            if key.value == "id" and isinstance(value, yaml.ScalarNode) and value.value.strip():
                return f'{kind} "{tidy(value.value)[:60]}"'
        return otherwise

    def items(self, node: yaml.Node, where: str) -> list[yaml.Node]:
        """The items of a list that must have some."""
        if not isinstance(node, yaml.SequenceNode):
            self.note(node, f"{where} must be a list, as in [a, b] or lines that begin with -")
            return []
        if not node.value:
            self.note(node, f"{where} is an empty list")
        return list(node.value)

    def texts(self, node: yaml.Node, where: str) -> Iterator[tuple[yaml.Node, str | None]]:
        """The texts of a list, as `text` reads them."""
        in_brackets = isinstance(node, yaml.SequenceNode) and node.flow_style
        for number, item in enumerate(self.items(node, where), start=1):
            text = self.text(item, f"item {number} of {where}")
            if text and in_brackets and _plain(item) and (cut := _CUT.match(text)):
                self.note(
                    item,
                    f'item {number} of {where} begins with "{cut[1]}": inside [ ] a comma ends a text; '
                    "put the whole text in quotes",
                )
                text = None
            yield item, text

    def text(self, node: yaml.Node, where: str, *, may_be_empty: bool = False) -> str | None:
        """A text, tidied; None when something was noted."""
        if isinstance(node, yaml.MappingNode):
            self.note(node, f'{where} must be a text; one that holds ": " or is inside {{ }} needs quotes')
            return None
        if not isinstance(node, yaml.ScalarNode):
            self.note(node, f"{where} must be a text; one that begins with [ or - needs quotes")
            return None
        kind = node.tag.removeprefix(_TAG)
        if kind == "null" and not node.value:
            if may_be_empty:
                return ""
            self.note(node, f"{where} is empty")
            return None
        if kind != "str":
            meaning = _KINDS.get(kind, "something of its own")
            self.note(node, f"{where} is {node.value[:40]}, which YAML reads as {meaning}; put it in quotes")
            return None
        text = tidy(node.value)
        if not text and not may_be_empty:
            self.note(node, f"{where} is empty")
            return None
        return text

    def integer(self, node: yaml.Node, where: str) -> int | None:
        """A whole number in decimal digits; None when something was noted."""
        if isinstance(node, yaml.ScalarNode) and re.fullmatch(r"-?[0-9]{1,9}", node.value):
            if _plain(node):
                return int(node.value)
            self.note(node, f"{where} is a number and needs no quotes")
            return None
        given = node.value[:40] if isinstance(node, yaml.ScalarNode) else "no number"
        self.note(node, f"{where} must be a whole number, not {given or 'empty'}")
        return None

    def truth(self, node: yaml.Node, where: str) -> bool | None:
        """`true` or `false`; None when something was noted."""
        if _plain(node) and node.value in ("true", "false"):
            return bool(node.value == "true")
        self.note(node, f"{where} must be true or false")
        return None

    def choice(self, node: yaml.Node, where: str, allowed: Collection[str]) -> str | None:
        """One of some words; None when something was noted."""
        value = node.value if isinstance(node, yaml.ScalarNode) else ""
        if value in allowed:
            return str(value)
        self.note(node, f"{where} must be one of {', '.join(allowed)}, not {str(value)[:40] or 'empty'}")
        return None


def _plain(node: yaml.Node) -> bool:
    """Whether it is written without quotes; the two loaders say so differently."""
    return isinstance(node, yaml.ScalarNode) and not node.style
